package remote

import (
	pb "github.com/coreos/dbtester/dbtesterpb"
	"github.com/coreos/dbtester/pkg/results"
)

// HostOf decodes the machine in a message; nil for none.
func HostOf(data []byte) (*results.Host, error) {
	return pb.ReadRecord[results.Host]("the machine", data)
}
