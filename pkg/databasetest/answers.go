package databasetest

import (
	"flag"
	"math/rand/v2"
	"runtime"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/coreos/dbtester/pkg/database"
	"github.com/coreos/dbtester/pkg/sleep/slowtest"
	"github.com/coreos/dbtester/pkg/yamlfile"
)

// The recorded answers are mutated this often in a usual, a [Long] and a short test.
const (
	mutations      = 256
	longMutations  = 1024
	shortMutations = 128
	// atOnce is the number of mutations tried at the same time: after most mutations a client
	// waits, and go-zookeeper takes seconds to close. Together they may allocate mostTogether
	// bytes, far less than a list or value of four billion.
	atOnce       = 64
	mostTogether = 2 << 30
	// answerWithin bounds a call whose answer was changed. Exceeding it is no failure.
	answerWithin = 100 * time.Millisecond
)

// Answers checks a driver with answers from a real member, which are below testdata/answers in the
// calling package: first as recorded, then changed in hundreds of ways, each time one piece of one
// answer. Calls must return without a panic, and without allocating the memory an answer claims to
// need. No member is started, except with -record, which rewrites the file:
//
//	go test ./pkg/database/NAME -run '^TestRecordedAnswers$' -record
func Answers(t *testing.T, s Suite, name string) {
	t.Helper()
	if Recording() {
		record(t, s, name)
	}
	a := newAnswers(t, s, name)
	for i, call := range a.calls {
		pieces := 0
		for _, conn := range a.said[call.name] {
			pieces += len(conn)
		}
		// A client may close its connection before the last pieces.
		if played := a.ask(t, i, a.said[call.name], playedWithin); 2*played < pieces || played == 0 {
			t.Errorf("%s: only %d of %d recorded pieces of answers were asked for: -record makes a new recording", call.name, played, pieces)
		}
	}
	n := mutations
	switch {
	case slowtest.Long():
		n = longMutations
	case testing.Short():
		n = shortMutations
	}
	for first := 0; first < n; first += atOnce {
		a.tryChanged(t, first, atOnce)
	}
}

// Recording reports whether -record was given. A suite then needs executables.
func Recording() bool { return flag.Lookup("record").Value.String() == "true" }

// FuzzAnswers runs Answers for the fuzzer, which changes one piece of an answer arbitrarily.
func FuzzAnswers(f *testing.F, s Suite, name string) {
	f.Helper()
	a := newAnswers(f, s, name)
	for i := range a.calls {
		for at, one := range a.pieces(i) {
			f.Add(uint8(i), uint8(at), one.Data)
		}
	}
	f.Fuzz(func(t *testing.T, call, at uint8, data []byte) {
		i := int(call) % len(a.calls)
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		a.ask(t, i, a.with(i, int(at), func([]byte) []byte { return data }), answerWithin)
		runtime.ReadMemStats(&after)
		if took := after.TotalAlloc - before.TotalAlloc; took > mostAllocated {
			t.Errorf("%s allocated %d MiB for what a server claims", a.calls[i].name, took>>20)
		}
	})
}

// answers are calls by a driver, and a member's answers to each.
type answers struct {
	driver database.Driver
	calls  []serverCall
	said   recording
}

func newAnswers(t testing.TB, s Suite, name string) *answers {
	t.Helper()
	a := &answers{driver: s.Database.New(), said: readRecording(t, name)}
	if err := yamlfile.DecodeOptions([]byte(s.Options), a.driver); err != nil {
		t.Fatalf("decode options: %v", err)
	}
	a.calls = serverCalls(a.driver)
	return a
}

// pieces returns all pieces of the answers to a call.
func (a *answers) pieces(call int) []piece { return slices.Concat(a.said[a.calls[call].name]...) }

// with returns the answers to a call, with one piece changed.
func (a *answers) with(call, at int, change func([]byte) []byte) conversation {
	said := a.said[a.calls[call].name]
	changed := make(conversation, len(said))
	n := len(a.pieces(call))
	if n == 0 {
		return said
	}
	at %= n
	for i, conn := range said {
		changed[i] = slices.Clone(conn)
		if at >= 0 && at < len(conn) {
			changed[i][at].Data = change(slices.Clone(conn[at].Data))
		}
		at -= len(conn)
	}
	return changed
}

// ask makes a call to a server that plays these answers, and returns the number of pieces it
// played.
func (a *answers) ask(t testing.TB, call int, said conversation, within time.Duration) int {
	t.Helper()
	p := play(t, said)
	a.calls[call].try(t, database.Target{Endpoints: []string{p.listener.Addr().String()}, Prefer: -1, Prefix: liedPrefix}, within)
	return p.end()
}

// tryChanged tries n changes together.
func (a *answers) tryChanged(t *testing.T, first, n int) {
	t.Helper()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	var tasks sync.WaitGroup
	for i := first; i < first+n; i++ {
		tasks.Go(func() {
			random := rand.New(rand.NewPCG(1, uint64(i)))
			call := random.IntN(len(a.calls))
			a.ask(t, call, a.with(call, random.IntN(1<<16), func(data []byte) []byte { return change(data, random, i%6) }), answerWithin)
		})
	}
	tasks.Wait()
	runtime.ReadMemStats(&after)
	if took := after.TotalAlloc - before.TotalAlloc; took > mostTogether {
		t.Errorf("the changes %d to %d had %d MiB allocated for what servers claim", first, first+n-1, took>>20)
	}
}
