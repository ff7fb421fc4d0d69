package buffer

import "testing"

func TestBorrow(t *testing.T) {
	for n := range Largest + 2 {
		b := Borrow(n)
		if cap(b.Bytes) < n || cap(b.Bytes) > max(2*n, Smallest) || len(b.Bytes) > 0 {
			t.Fatalf("got a buffer of %d bytes for %d, %d of them used", cap(b.Bytes), n, len(b.Bytes))
		}
		b.GiveBack()
	}
	(*Buffer)(nil).GiveBack()
}

// No two borrowers have the same buffer.
func TestTwoBorrowers(t *testing.T) {
	one := Borrow(100)
	two := Borrow(100)
	if &one.Bytes[:1][0] == &two.Bytes[:1][0] {
		t.Error("two have the same memory")
	}
}
