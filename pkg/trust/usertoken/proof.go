package usertoken

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
)

// Hello begins a connection. It differs from the first bytes of TLS and of HTTP/2.
//
//	caller:   Hello, its number
//	listener: kindProof, its number, its proof; or kindOpen alone
//	caller:   its proof
//	listener: kindWelcome
const Hello = "dbtester-token1\n"

const (
	numberSize = 32
	proofSize  = sha256.Size

	kindProof   = 'p'
	kindOpen    = 'o'
	kindWelcome = 'w'
)

// A proof includes the role of its maker, so it cannot be sent back to its maker.
const (
	byListener = "dbtester listener"
	byCaller   = "dbtester caller"
)

// Errors that end a handshake.
var (
	// ErrOpen means that the listener requires no proof from anyone. The connection can be used.
	ErrOpen = errors.New("it takes requests from anyone")
	// ErrOther means that the listener does not know the token.
	ErrOther = errors.New("it does not know this user's token: another user runs it, or it was started before the token was replaced")
	// ErrStranger means that the caller does not know the token.
	ErrStranger = errors.New("the caller does not know this user's token")
)

// Call proves to the listener at the other end of a connection that this process knows the token,
// after the listener has proved the same. token is called if the listener requires a proof. The
// caller limits the time with a deadline on the connection.
func Call(conn net.Conn, token func() (Token, error)) error {
	c, err := newChallenge(conn.RemoteAddr())
	if err != nil {
		return err
	}
	if _, err := conn.Write(append([]byte(Hello), c.caller[:]...)); err != nil {
		return err
	}
	var kind [1]byte
	if _, err := io.ReadFull(conn, kind[:]); err != nil {
		return err
	}
	switch kind[0] {
	case kindProof:
	case kindOpen:
		return ErrOpen
	default:
		return &ForeignError{First: kind[0]}
	}
	var proof [proofSize]byte
	if _, err := io.ReadFull(conn, c.listener[:]); err != nil {
		return err
	}
	if _, err := io.ReadFull(conn, proof[:]); err != nil {
		return err
	}
	known, err := token()
	if err != nil {
		return err
	}
	if known.secret == nil || !hmac.Equal(proof[:], c.proof(known, byListener)) {
		return ErrOther
	}
	if _, err := conn.Write(c.proof(known, byCaller)); err != nil {
		return err
	}
	if _, err := io.ReadFull(conn, kind[:]); err != nil {
		return err
	}
	if kind[0] != kindWelcome {
		return &ForeignError{First: kind[0]}
	}
	return nil
}

// Answer performs the listener side of [Call], after it has read [Hello].
func Answer(conn net.Conn, token Token) error {
	if token.secret == nil {
		return errors.New("no token to compare with")
	}
	c, err := newChallenge(conn.LocalAddr())
	if err != nil {
		return err
	}
	c.listener = c.caller // the number just drawn belongs to the listener
	if _, err := io.ReadFull(conn, c.caller[:]); err != nil {
		return err
	}
	reply := append([]byte{kindProof}, c.listener[:]...)
	if _, err := conn.Write(append(reply, c.proof(token, byListener)...)); err != nil {
		return err
	}
	var proof [proofSize]byte
	if _, err := io.ReadFull(conn, proof[:]); err != nil {
		return fmt.Errorf("%w: %w", ErrStranger, err)
	}
	if !hmac.Equal(proof[:], c.proof(token, byCaller)) {
		return ErrStranger
	}
	_, err = conn.Write([]byte{kindWelcome})
	return err
}

// AnswerOpen answers like [Answer], for a listener that requires no proof.
func AnswerOpen(conn net.Conn) error {
	var number [numberSize]byte
	if _, err := io.ReadFull(conn, number[:]); err != nil {
		return err
	}
	_, err := conn.Write([]byte{kindOpen})
	return err
}

// ForeignError means that the listener uses another protocol.
type ForeignError struct{ First byte }

func (e *ForeignError) Error() string {
	if e.First == 0x15 { // a TLS record with an alert
		return "it demands TLS"
	}
	return "it is no agent of this version"
}

// challenge is the data covered by the proofs of both sides.
type challenge struct {
	addr             string // the listener address
	caller, listener [numberSize]byte
}

// newChallenge draws the caller number. The address must be a socket address.
func newChallenge(addr net.Addr) (*challenge, error) {
	at, err := netip.ParseAddrPort(addr.String())
	if err != nil {
		return nil, fmt.Errorf("a token is proved over TCP only, got %s address %q", addr.Network(), addr)
	}
	c := &challenge{addr: netip.AddrPortFrom(at.Addr().Unmap(), at.Port()).String()}
	rand.Read(c.caller[:]) // never fails (crypto/rand)
	return c, nil
}

// proof maps different inputs to different texts: for each maker, all parts except the address have
// fixed lengths, and the address comes last.
func (c *challenge) proof(token Token, by string) []byte {
	m := hmac.New(sha256.New, token.secret[:])
	for _, part := range [][]byte{[]byte(by), {0}, c.caller[:], c.listener[:], []byte(c.addr)} {
		m.Write(part)
	}
	return m.Sum(nil)
}
