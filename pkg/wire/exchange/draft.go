package exchange

import "github.com/coreos/dbtester/pkg/wire/buffer"

// Draft is the memory in which a client makes its next request. The zero Draft has no memory yet.
type Draft struct{ memory *buffer.Buffer }

// Begin returns empty memory for a request of about n bytes. Others reuse it once
// [Conn.SendDraft] has written the request; an unsent request leaves it to the next one.
func (d *Draft) Begin(n int) []byte {
	if d.memory == nil {
		d.memory = buffer.Borrow(n)
	}
	return d.memory.Bytes
}

// SendDraft sends like [Conn.Send], for a request that was made in a draft.
func (c *Conn) SendDraft(request []byte, d *Draft) error {
	c.trip.memory, d.memory = d.memory, nil
	return c.send(request)
}
