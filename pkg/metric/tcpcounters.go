package metric

import (
	"bytes"
	"fmt"
)

// Metrics from /proc/net/snmp and /proc/net/netstat.
const (
	TCPSentSegments  Name = "tcp_sent_segments"
	TCPRetransmitted Name = "tcp_retransmitted_segments"
	TCPTimeouts      Name = "tcp_timeouts"
	TCPListenDrops   Name = "tcp_listen_drops"
)

// tcpSegments reads /proc/net/snmp: the totals in a network namespace since its creation.
func tcpSegments() Source {
	return Source{
		File: "net/snmp",
		Metrics: []Metric{
			{Name: TCPSentSegments, Column: "TCP-SENT-SEGMENTS", Unit: "segments", Kind: Counter, Scope: Namespace, Optional: true,
				Help: "TCP segments that were sent, without those that were sent again"},
			{Name: TCPRetransmitted, Column: "TCP-RETRANSMITTED-SEGMENTS", Unit: "segments", Kind: Counter, Scope: Namespace, Report: true, Optional: true,
				Help: "TCP segments that were sent again, because the first was not acknowledged"},
		},
		Parse: func(data []byte, _ string, into []Reading) error {
			return parseProtocol(data, "Tcp:", into, "OutSegs", "RetransSegs")
		},
	}
}

// tcpEvents reads /proc/net/netstat.
func tcpEvents() Source {
	return Source{
		File: "net/netstat",
		Metrics: []Metric{
			{Name: TCPTimeouts, Column: "TCP-TIMEOUTS", Unit: "timeouts", Kind: Counter, Scope: Namespace, Report: true, Optional: true,
				Help: "times that a TCP connection waited in vain for an acknowledgement and then sent again"},
			{Name: TCPListenDrops, Column: "TCP-LISTEN-DROPS", Unit: "connections", Kind: Counter, Scope: Namespace, Report: true, Optional: true,
				Help: "attempts to connect that a listening socket dropped, most often because its queue was full"},
		},
		Parse: func(data []byte, _ string, into []Reading) error {
			return parseProtocol(data, "TcpExt:", into, "TCPTimeouts", "ListenDrops")
		},
	}
}

// parseProtocol finds the protocol counters, in a line with names followed by a line with numbers.
// Counters the kernel does not list stay unknown.
func parseProtocol(data []byte, protocol string, into []Reading, names ...string) error {
	titles, rest := cutProtocol(data, protocol)
	numbers, _ := cutProtocol(rest, protocol)
	if titles == nil || numbers == nil {
		return fmt.Errorf("the protocol %q must have a line of names and one of numbers", protocol)
	}
	for {
		var title, number []byte
		title, titles = nextField(titles)
		number, numbers = nextField(numbers)
		if len(title) == 0 && len(number) == 0 {
			return nil
		}
		if len(title) == 0 || len(number) == 0 {
			return fmt.Errorf("the protocol %q must have as many numbers as names", protocol)
		}
		for i, name := range names {
			if string(title) != name {
				continue
			}
			n, err := parseCount(number)
			if err != nil {
				return fmt.Errorf("%s %s: %w", protocol, name, err)
			}
			into[i].Value = n
		}
	}
}

// cutProtocol returns the next line for the protocol without its name, or nil, and the data after
// that line.
func cutProtocol(data []byte, protocol string) (line, after []byte) {
	for len(data) > 0 {
		var this []byte
		this, data, _ = bytes.Cut(data, []byte{'\n'})
		if fields, ok := bytes.CutPrefix(this, []byte(protocol)); ok {
			return fields, data
		}
	}
	return nil, nil
}

// nextField returns the first word, empty at the end, and the rest.
func nextField(line []byte) (field, after []byte) {
	line = bytes.TrimLeft(line, " ")
	field, after, _ = bytes.Cut(line, []byte{' '})
	return field, after
}
