package metric

import (
	"math"
	"testing"
)

// FuzzSources gives any text to every parser. A reading is 0 or more, or unknown, and a text that
// is refused must not panic.
func FuzzSources(f *testing.F) {
	for _, text := range []string{
		"cpu  100 10 200 9999 777 30 40 50 7 8\n",
		"some avg10=0.81 avg60=3.06 avg300=4.58 total=50783697\nfull avg10=0.13 avg60=1.56 avg300=2.36 total=30510047\n",
		"Tcp: RtoMin OutSegs RetransSegs\nTcp: 200 1000 7\n",
		"TcpExt: ListenDrops TCPTimeouts\nTcpExt: 2 3\n",
		"   1: 0100007F:094B 0100007F:AD18 01 00000400:00000020 01:00000014",
		"nr_throttled 7\nthrottled_usec 250000\n", "low 0\nmax 31\n", "4096\n", "-1\n",
		"10 (etcd) S 1 10 10 0 -1 4194560 1 2 3 4 100 23 1000 200 20 0 8 0 4242 1 2",
		"VmRSS:\t     29820 kB\nvoluntary_ctxt_switches:\t150\n", "2500000000 1500000000 12\n",
		"eth0:500 5 0 0 0 0 0 0 600 6 0 0 0 0 0 0\n", "8 0 sda 1 2 3 4 5 6 7 8 9 10 11\n", "0.52 1.58 12.59 3/441 4242\n",
		"-5\n", "NaN -1 Inf", "10 (etcd) S 1 10 10 0 -1 4194560 1 2 3 4 -100 23 1000 200 20 0 8 0 4242 1 2",
		"read_bytes: 4096\nwrite_bytes: 8192\n",
	} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		for _, s := range Sources() {
			if s.File == "" {
				continue
			}
			into := make([]Reading, len(s.Metrics))
			var err error
			if s.Line != nil {
				err = s.Line(text, into)
			} else {
				for i := range into {
					into[i].Value = Unknown
				}
				err = s.Parse(text, "sda", into)
			}
			if err != nil {
				continue
			}
			for i, r := range into {
				if math.IsNaN(r.Value) || math.IsInf(r.Value, 0) || r.Value < 0 && r.Value != Unknown {
					t.Errorf("%s of %q must be known and 0 or more, or unknown, got %v", s.Metrics[i].Name, text, r.Value)
				}
			}
		}
	})
}
