package live

import (
	"context"
	"strings"
	"syscall"
	"testing"
	"time"
)

// BenchmarkSecond does the work of one second for three pages, in the tenth minute of a load with
// three members: the frame is made once, and sent to each. %-of-a-core is the CPU time for all
// that, with the pages' side of the connections.
func BenchmarkSecond(b *testing.B) {
	const pages, minutes = 3, 10
	now := time.Now()
	r := New("a load that is looked at")
	of := Of{1, 1, "etcd"}
	for second := 1; second <= minutes*60; second++ {
		r.clock = func() time.Time { return now.Add(time.Duration(second) * time.Second) }
		for _, name := range []string{"client", "member 1", "member 2", "member 3"} {
			r.Sample(of, name, sampleOf(r.clock(), float64(second)*1e6))
		}
		r.Load(of, progress(second, 100, 0), Ahead{Length: 2 * minutes * time.Minute})
	}
	s, at := served(b, r)
	var lines []func()
	for range pages {
		from, done := stream(b, at)
		defer done()
		lines = append(lines, func() {
			for from.Scan() && !strings.HasPrefix(from.Text(), "event: ") {
			}
			if err := from.Err(); err != nil {
				b.Fatal(err)
			}
		})
	}
	before := cpu(b)
	for b.Loop() {
		e, err := s.second()
		if err != nil {
			b.Fatal(err)
		}
		s.viewers.send(e)
		for _, read := range lines {
			read()
		}
	}
	b.ReportMetric((cpu(b)-before).Seconds()/float64(b.N)*100, "%-of-a-core")
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	if err := s.Close(ctx); err != nil {
		b.Error(err)
	}
}

// cpu returns this process's CPU time.
func cpu(b *testing.B) time.Duration {
	b.Helper()
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
