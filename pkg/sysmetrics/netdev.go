package sysmetrics

import (
	"bytes"
	"fmt"
	"strconv"
)

// interfaceCounters are the totals of one network interface since boot.
type interfaceCounters struct{ rxBytes, rxPackets, txBytes, txPackets int64 }

// netdev reads the counters of one interface of this process's network
// namespace.
func (f *files) netdev(name string) (interfaceCounters, error) {
	data, err := f.read("net", "dev")
	if err != nil {
		return interfaceCounters{}, err
	}
	return parseNetdev(data, name)
}

func parseNetdev(data []byte, name string) (interfaceCounters, error) {
	for line := range bytes.Lines(data) {
		at := bytes.LastIndexByte(line, ':') // an alias holds one itself
		if at < 0 || string(bytes.TrimSpace(line[:at])) != name {
			continue
		}
		fields := bytes.Fields(line[at+1:])
		if len(fields) < 10 {
			return interfaceCounters{}, fmt.Errorf("interface %s: only %d fields in net/dev", name, len(fields))
		}
		var c interfaceCounters
		for i, into := range map[int]*int64{0: &c.rxBytes, 1: &c.rxPackets, 8: &c.txBytes, 9: &c.txPackets} {
			n, err := strconv.ParseInt(string(fields[i]), 10, 64)
			if err != nil {
				return interfaceCounters{}, fmt.Errorf("interface %s: field %d of net/dev: %w", name, i+1, err)
			}
			*into = n
		}
		return c, nil
	}
	return interfaceCounters{}, fmt.Errorf("no interface %q in net/dev", name)
}
