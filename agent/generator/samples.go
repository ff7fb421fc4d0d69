package generator

import (
	"net"
	"os"

	pb "github.com/coreos/dbtester/dbtesterpb"
	"github.com/coreos/dbtester/pkg/machine/sysmetrics"
	"github.com/coreos/dbtester/pkg/results"
)

// sample finds the sources to sample for this process and its machine while steps run. Control gets
// the same lines as in the file for its own machine.
func (s *session) sample() (err error) {
	o := s.server.opts
	first, _, _ := net.SplitHostPort(s.part.target.Endpoints[0]) // was checked
	s.sampler, err = sysmetrics.NewSampler(sysmetrics.Options{
		PIDs: sysmetrics.ThisProcess, Dir: os.TempDir(), Device: o.Device, Interface: o.Interface,
		Addr: first, Clients: s.issuer.Clients, // the interface that leads there
		Period: s.part.period,
	})
	s.lines = results.NewSampleLines(func(lines []byte) error {
		return s.out.Load().put(&pb.RunResponse{Record: &pb.RunResponse_Samples{Samples: lines}})
	})
	return err
}
