package results

import (
	"path/filepath"
	"slices"
	"time"

	"github.com/coreos/dbtester/pkg/metric"
	"github.com/coreos/dbtester/pkg/results/clocks"
)

// OtherLoads compares, for each machine whose processors are known, its whole work between the
// first and the last sample in the load with the work that the client and the members did on it.
// Dir is the folder of the database. Machines without two samples are left out.
func OtherLoads(dir string, run *DatabaseRun, client Host) []OtherLoad {
	var hosts [][]sampledProcesses
	add := func(p sampledProcesses) {
		i := slices.IndexFunc(hosts, func(h []sampledProcesses) bool { return h[0].host.BootID == p.host.BootID })
		if i < 0 {
			hosts = append(hosts, nil)
			i = len(hosts) - 1
		}
		hosts[i] = append(hosts[i], p)
	}
	// Unreadable clocks and samples are left out; the ones before them count.
	tracks, _ := Tracks(dir, run)
	read := func(member int, host *Host, file string, track clocks.Track) {
		all, _ := ReadSamples(filepath.Join(dir, file))
		in := slices.DeleteFunc(all, func(s Sample) bool {
			at := time.Unix(0, track.Client(s.UnixNano))
			return at.Before(run.LoadStart) || at.After(run.LoadEnd)
		})
		if host != nil && host.BootID != "" && len(in) > 1 {
			add(sampledProcesses{member, *host, in})
		}
	}
	read(-1, &client, FileClient, clocks.Track{})
	for i, m := range run.Members {
		read(m.Index, m.Host, ServerFile(m.Index+1), tracks[i])
	}
	var others []OtherLoad
	for _, h := range hosts {
		if o, ok := otherLoad(h); ok {
			others = append(others, o)
		}
	}
	return others
}

// sampledProcesses are the client's or a member's samples during the load.
type sampledProcesses struct {
	member  int // -1 for the client
	host    Host
	samples []Sample
}

// otherLoad returns the other load on one machine; false if the machine's processor time was not
// sampled.
func otherLoad(processes []sampledProcesses) (o OtherLoad, ok bool) {
	devices := map[string]bool{}
	for _, p := range processes {
		first, last := &p.samples[0], &p.samples[len(p.samples)-1]
		length := time.Duration(last.UnixNano - first.UnixNano)
		grown := func(n metric.Name) float64 {
			if first.Get(n) < 0 || last.Get(n) < first.Get(n) {
				return 0
			}
			return last.Get(n) - first.Get(n)
		}
		if o.Length == 0 {
			if first.Get(metric.HostCPUSeconds) < 0 || length <= 0 {
				return o, false
			}
			o.Host, o.CPUs, o.Length = p.host.Name, p.host.AllCPUs(), length
			o.HostCPUSeconds = grown(metric.HostCPUSeconds)
		}
		// Samples on one machine cover nearly the same time.
		if length > 0 {
			o.OwnCPUSeconds += grown(metric.CPUSeconds) * o.Length.Seconds() / length.Seconds()
		}
		if p.member < 0 {
			o.Client = true
			continue
		}
		o.Members = append(o.Members, p.member)
		if last.Device == "" {
			continue
		}
		o.OwnWrittenBytes += grown(metric.WriteBytes)
		if !devices[last.Device] {
			devices[last.Device] = true
			o.DeviceWrittenBytes += metric.SectorBytes * grown(metric.SectorsWritten)
		}
	}
	return o, true
}
