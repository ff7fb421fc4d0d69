package remote

import (
	pb "github.com/coreos/dbtester/dbtesterpb"
	"github.com/coreos/dbtester/pkg/results"
)

// HostOf decodes the machine in a message, or nil.
func HostOf(data []byte) (*results.Host, error) {
	return pb.ReadRecord[results.Host]("the machine", data)
}
