package database

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/coreos/dbtester/pkg/workload"
)

type (
	deleting struct {
		Client
		Deleter
	}
	swapping struct {
		Client
		Deleter
		Swapper
	}
)

// TestOperationsOf: transports together support the operations that each one supports.
func TestOperationsOf(t *testing.T) {
	plain := []workload.Op{workload.OpWrite, workload.OpUpdate, workload.OpRead, workload.OpReadOneshot}
	for _, test := range []struct {
		name    string
		clients []Client
		want    []workload.Op
	}{
		{"no optional method", []Client{struct{ Client }{}}, plain},
		{"delete and swap", []Client{swapping{}}, append(plain[:4:4], workload.OpDelete, workload.OpSwap)},
		{"two transports", []Client{swapping{}, (*deleting)(nil)}, append(plain[:4:4], workload.OpDelete)},
	} {
		if diff := cmp.Diff(test.want, OperationsOf(test.clients...)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", test.name, diff)
		}
	}
}
