package poller

// Reader receives the bytes that arrive on a connection. One goroutine at a time calls its methods.
// Many connections may share that goroutine, so the methods must not wait for other bytes to arrive.
type Reader interface {
	// Room returns memory for the next bytes. It must not be empty, and belongs to the connection
	// until the next call.
	Room() []byte
	// Received is called after n bytes were read into Room, and with 0 if nothing had arrived.
	// After an error nothing more is read.
	Received(n int) error
	// Lost is called last, unless the connection was closed before. err is from Received or from
	// reading: [io.EOF] if the other side has ended.
	Lost(err error)
}

// Conn is a connection for writing, whose reader gets the arriving bytes.
type Conn interface {
	// TryWrite writes as much of b as the network takes at once, and returns the count, which may be
	// 0. Only one goroutine may write at a time.
	TryWrite(b []byte) (int, error)
	// Write writes all of b, and waits for the network.
	Write(b []byte) (int, error)
	// Close ends the connection, fails writes, and returns when the methods of the reader have
	// returned, so these must not call it. It may be called again.
	Close() error
}

// LowWater is a [Conn] with a low-water mark for arriving bytes, such as a plain TCP connection on
// Linux.
type LowWater interface {
	// WakeAt delays calling the reader until so many bytes have arrived, or the other side has
	// ended.
	WakeAt(bytes int) error
}

// Pauser is a [Reader] that may stop reading for a while.
type Pauser interface {
	Reader
	// Pause is called after each call to Received. Nothing is read until the channel that it
	// returns is closed, which must be before Close; nil means no pause.
	Pause() <-chan struct{}
}

// pause returns the channel that a reader waits for before it reads on, or nil if it does not
// wait.
func pause(r Reader) <-chan struct{} {
	if p, may := r.(Pauser); may {
		return p.Pause()
	}
	return nil
}
