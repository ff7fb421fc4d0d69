package versions

import (
	"sync"
	"testing"
)

func TestTable(t *testing.T) {
	table := New(2)
	expect := func(want int64) {
		t.Helper()
		if got := table.Of(1); got != want {
			t.Fatalf("version %d, want %d", got, want)
		}
	}
	expect(Unknown)
	table.Read(1, 5)
	expect(5)
	table.Read(1, 4) // a read overtaken by another client's write
	expect(5)
	table.Wrote(1, 8)
	table.Wrote(1, 7) // an answer that came late
	expect(8)
	if table.Lost(1, 5, Unknown) {
		t.Error("a transaction with an old version must not make a read necessary: the new one is known")
	}
	expect(8)
	if table.Lost(1, 8, 9) {
		t.Error("a conflict whose answer has the version needs no read")
	}
	expect(9)
	if !table.Lost(1, 9, Unknown) || table.Lost(1, 9, Unknown) {
		t.Error("of two clients that lost against an unknown version, one must read it")
	}
	expect(Unknown)
	table.Wrote(1, 10)
	table.Doubt(1)
	expect(Unknown)
	for _, key := range []int64{-1, 2} { // keys created by the load
		table.Wrote(key, 3)
		table.Read(key, 3)
		table.Doubt(key)
		if table.Lost(key, 3, Unknown) || table.Of(key) != Unknown {
			t.Errorf("key %d is not in the table, and must not be known", key)
		}
	}
}

func TestTableAtOnce(t *testing.T) {
	table := New(1)
	var wg sync.WaitGroup
	for n := range int64(8) {
		wg.Go(func() {
			for i := range int64(1000) {
				table.Wrote(0, 8*i+n)
			}
		})
	}
	wg.Wait()
	if got := table.Of(0); got != 8*999+7 {
		t.Errorf("version %d, want the greatest, %d", got, 8*999+7)
	}
}
