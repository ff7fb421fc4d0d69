package main

import (
	"bytes"
	"context"
	"encoding/binary"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func at(seconds float64) time.Time { return time.Unix(1000, 0).Add(time.Duration(seconds * 1e9)) }

// The longest time counts from the answer before the fault to the answer after it.
func TestLongest(t *testing.T) {
	answers := []time.Time{at(0), at(3), at(3.5), at(6), at(6.1), at(20)}
	for _, tt := range []struct{ from, until, end, want float64 }{{3.1, 7, 0, 13.9}, {3.1, 7, 7, 2.5}, {3.1, 6.05, 0, 2.5}, {3.1, 3.2, 0, 0.5}, {0.5, 1, 0, 3}} {
		end := time.Time{} // no next fault
		if tt.end > 0 {
			end = at(tt.end)
		}
		if got := longest(answers, at(tt.from), at(tt.until), end); got != time.Duration(tt.want*1e9) {
			t.Errorf("from %v until %v: %v, want %v s", tt.from, tt.until, got, tt.want)
		}
	}
}

// The table of a run is read by column name, and differing measurements are reported.
func TestRows(t *testing.T) {
	path := filepath.Join(t.TempDir(), "faults.csv")
	table := "kind,repeat,from,until,failed,blackout_ns,silence_ns,more\n" +
		"kill,1,1970-01-01T00:16:41Z,1970-01-01T00:16:44Z,0,1500000000,2100000000,x\n" +
		"pause,1,1970-01-01T00:16:45Z,1970-01-01T00:16:46Z,1,1000000000,1000000000,x\n"
	if err := os.WriteFile(path, []byte(table), 0o600); err != nil {
		t.Fatal(err)
	}
	rows, err := store{name: "a"}.rows(path, []time.Time{at(0.9), at(2.95), at(3), at(4.9), at(5.9), at(7)})
	if err != nil || len(rows) != 2 {
		t.Fatalf("rows %+v, %v", rows, err)
	}
	var out strings.Builder
	report(&out, "idle", rows)
	for _, want := range []string{"| a | kill | 1 | 1.500 | 2.100 | 2.050 | +50 |", "**apart**", "1 of 2 agree"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("the table has no %q:\n%s", want, out.String())
		}
	}
}

// A write to ZooKeeper is acknowledged by an answer without an error, and by one that the node is
// there already.
func TestZooKeeper(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute) // longer than patience
	defer cancel()
	for code, acknowledged := range map[int32]bool{0: true, -110: true, -4: false} {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		go func() {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			defer conn.Close()
			for _, answer := range [][]byte{make([]byte, 37), bytes.Join([][]byte{number(1), make([]byte, 8), number(code)}, nil)} {
				var size [4]byte
				if _, err := io.ReadFull(conn, size[:]); err != nil {
					return
				}
				if _, err := io.CopyN(io.Discard, conn, int64(binary.BigEndian.Uint32(size[:]))); err != nil {
					return
				}
				if _, err := conn.Write(append(number(int32(len(answer))), answer...)); err != nil {
					return
				}
			}
			_, _ = io.Copy(io.Discard, conn)
		}()
		if err := dialZooKeeper(l.Addr().String()).write(ctx); (err == nil) != acknowledged {
			t.Errorf("code %d: %v", code, err)
		}
		l.Close()
	}
}
