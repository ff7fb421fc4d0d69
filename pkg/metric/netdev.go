package metric

import (
	"bytes"
	"fmt"
)

// Metrics from /proc/net/dev.
const (
	ReceiveBytes    Name = "receive_bytes"
	ReceivePackets  Name = "receive_packets"
	TransmitBytes   Name = "transmit_bytes"
	TransmitPackets Name = "transmit_packets"
)

// interfaceCounters reads /proc/net/dev: totals since boot.
func interfaceCounters() Source {
	return Source{
		File: "net/dev",
		Metrics: []Metric{
			{Name: ReceiveBytes, Column: "RECEIVE-BYTES-NUM", Unit: "bytes", Kind: Counter, Scope: Interface, Help: "bytes that the interface received"},
			{Name: ReceivePackets, Column: "RECEIVE-PACKETS", Unit: "packets", Kind: Counter, Scope: Interface, Help: "packets that the interface received"},
			{Name: TransmitBytes, Column: "TRANSMIT-BYTES-NUM", Unit: "bytes", Kind: Counter, Scope: Interface, Help: "bytes that the interface sent"},
			{Name: TransmitPackets, Column: "TRANSMIT-PACKETS", Unit: "packets", Kind: Counter, Scope: Interface, Help: "packets that the interface sent"},
		},
		Parse: parseInterface,
	}
}

func parseInterface(data []byte, name string, into []Reading) error {
	for line := range bytes.Lines(data) {
		at := bytes.LastIndexByte(line, ':') // an alias contains a colon itself
		if at < 0 || string(bytes.TrimSpace(line[:at])) != name {
			continue
		}
		fields := bytes.Fields(line[at+1:])
		if len(fields) < 10 {
			return fmt.Errorf("interface %s: only %d fields in net/dev", name, len(fields))
		}
		for i, field := range []int{0, 1, 8, 9} {
			var err error
			if into[i].Value, err = parseCount(fields[field]); err != nil {
				return fmt.Errorf("interface %s: field %d of net/dev: %w", name, field+1, err)
			}
		}
		return nil
	}
	return fmt.Errorf("no interface %q in net/dev", name)
}
