package poller

// Socket is a plain TCP connection that its user reads after a notification.
// One goroutine at a time may read, and one may write. The other methods, and Close of [Conn], may be
// called from any goroutine, also by the notified function.
type Socket interface {
	Conn
	// TryRead reads once into b, which must not be empty; it returns 0 bytes if nothing has
	// arrived. more reports that there may be more without another notification: bytes, or the end.
	// An error means that the connection has ended, with [io.EOF] if the other side ended it.
	TryRead(b []byte) (n int, more bool, err error)
	// Peek reports whether bytes have arrived, without taking them. Errors are as in TryRead.
	Peek() (waiting bool, err error)
	// Shutdown ends the connection, notifies the user and fails writes. The socket stays open
	// until Close.
	Shutdown() error
}
