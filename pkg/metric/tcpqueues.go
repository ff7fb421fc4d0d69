package metric

import (
	"bytes"
	"fmt"
	"strconv"
	"time"
)

// Metrics from /proc/net/tcp and /proc/net/tcp6.
const (
	TCPSendQueue    Name = "tcp_send_queue_bytes"
	TCPReceiveQueue Name = "tcp_receive_queue_bytes"
)

// tcpQueues reads /proc/net/tcp and tcp6, with one line per socket. For each reading the kernel
// walks its whole connection table, which takes milliseconds even on an idle machine. Hence the
// long interval between readings.
func tcpQueues() Source {
	return Source{
		File: "net/tcp", Also: "net/tcp6", Every: 5 * time.Second,
		Metrics: []Metric{
			{Name: TCPSendQueue, Column: "TCP-SEND-QUEUE-BYTES", Unit: "bytes", Kind: Gauge, Scope: Namespace, Report: true, Optional: true,
				Help: "bytes that TCP connections of the network namespace hold and the other side has not acknowledged, read every 5 s"},
			{Name: TCPReceiveQueue, Column: "TCP-RECEIVE-QUEUE-BYTES", Unit: "bytes", Kind: Gauge, Scope: Namespace, Report: true, Optional: true,
				Help: "bytes that TCP connections of the network namespace received and no process has read, read every 5 s"},
		},
		Line: addQueues,
	}
}

// listening is the state of a socket whose queues hold connections instead of bytes.
const listening = "0A"

// addQueues adds the fifth field in the line for a socket, SEND:RECEIVE in hexadecimal. The header
// line lacks it.
func addQueues(line []byte, into []Reading) error {
	var fields [5][]byte
	n := 0
	for field := range bytes.FieldsSeq(line) {
		if fields[n] = field; n == len(fields)-1 {
			n++
			break
		}
		n++
	}
	if n == 0 || string(fields[0]) == "sl" {
		return nil
	}
	send, receive, ok := bytes.Cut(fields[4], []byte{':'})
	if n < len(fields) || !ok {
		return fmt.Errorf("a socket's line must have its queues in the fifth field, got %q", line)
	}
	if string(fields[3]) == listening {
		return nil
	}
	for i, digits := range [][]byte{send, receive} {
		bytes, err := strconv.ParseUint(string(digits), 16, 32)
		if err != nil {
			return fmt.Errorf("queues of a socket: %w", err)
		}
		into[i].Value += float64(bytes)
	}
	return nil
}
