package database

import (
	"testing"

	"github.com/coreos/dbtester/pkg/workload"
)

func TestDeclined(t *testing.T) {
	for _, tc := range []struct {
		op            workload.Op
		class         Class
		deletes, want bool
	}{
		{workload.OpSwap, ClassConflict, false, true},
		{workload.OpSwap, ClassNotFound, true, true},
		{workload.OpSwap, ClassNotFound, false, false},
		{workload.OpSwap, ClassWrongValue, true, false},
		{workload.OpTxn, ClassConflict, false, true},
		{workload.OpTxn, ClassTimeout, false, false},
		{workload.OpCreate, ClassConflict, false, false},
		{workload.OpWrite, ClassConflict, true, false},
		{workload.OpRead, ClassNotFound, true, true},
		{workload.OpRead, ClassNotFound, false, false},
		{workload.OpRead, ClassTimeout, true, false},
	} {
		if got := Declined(tc.op, tc.class, tc.deletes); got != tc.want {
			t.Errorf("%s of class %q in a load that deletes: %v: want %v, got %v", tc.op, tc.class, tc.deletes, tc.want, got)
		}
	}
}
