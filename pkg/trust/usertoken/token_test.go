package usertoken_test

import (
	"bytes"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/user"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/coreos/dbtester/pkg/trust/usertoken"
)

func ensure(t *testing.T, path string) usertoken.Token {
	t.Helper()
	token, err := usertoken.Ensure(path)
	if err != nil {
		t.Fatalf("make the token: %v", err)
	}
	return token
}

func TestFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "config", "dbtester", "token")
	if _, err := usertoken.Read(path); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("no token: %v", err)
	}
	tokens := make([]usertoken.Token, 20)
	var wg sync.WaitGroup
	for i := range tokens {
		wg.Go(func() { tokens[i] = ensure(t, path) })
	}
	wg.Wait()
	for i, token := range tokens {
		if token.Forms()[0] != tokens[0].Forms()[0] {
			t.Fatalf("token %d differs from the first", i)
		}
	}
	for name, mode := range map[string]os.FileMode{path: 0o600, filepath.Dir(path): 0o700 | os.ModeDir} {
		if info, err := os.Stat(name); err != nil || info.Mode() != mode {
			t.Errorf("%s: %v, %v, want %v", name, info.Mode(), err, mode)
		}
	}
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatalf("read the file: %v", err)
	}
	secret, err := hex.DecodeString(strings.TrimSpace(string(text)))
	if err != nil {
		t.Fatalf("decode the file: %v", err)
	}
	if shown := fmt.Sprintf("%v %+v %#v %s %v", tokens[0], tokens[0], tokens[0], &tokens[0], struct{ t usertoken.Token }{tokens[0]}); strings.Contains(shown, string(text[:8])) || strings.Contains(shown, strings.Trim(fmt.Sprint(secret[:4]), "[]")) {
		t.Errorf("a token is printed: %s", shown)
	}

	for name, test := range map[string]struct {
		text string
		mode os.FileMode
		want string
	}{
		"open to others": {string(text), 0o644, "other users may know it"},
		"to the group":   {string(text), 0o640, "other users may know it"},
		"empty":          {"", 0o600, "read token"},
		"short":          {"00ff\n", 0o600, "is damaged"},
		"long":           {string(text) + "00", 0o600, "is damaged"},
		"no digits":      {strings.Repeat("x", 64), 0o600, "is damaged"},
	} {
		other := filepath.Join(t.TempDir(), "token")
		if err := os.WriteFile(other, []byte(test.text), test.mode); err != nil {
			t.Fatalf("write a file for the test: %v", err)
		}
		if _, err := usertoken.Ensure(other); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: %v, want %q", name, err, test.want)
		} else if test.text != "" && strings.Contains(err.Error(), strings.TrimSpace(test.text)) {
			t.Errorf("%s: the error holds the token: %v", name, err)
		}
	}
	// Root can give the token away, unless its user namespace has no other users.
	if os.Getuid() == 0 && os.Chown(path, 65534, 65534) == nil {
		if _, err := usertoken.Read(path); err == nil || !strings.Contains(err.Error(), "belongs to user id 65534") {
			t.Errorf("the token of another user: %v", err)
		}
	}
}

// pair returns a TCP connection on loopback, at an address the caller chooses.
func pair(t *testing.T, addr string) (caller, listener net.Conn) {
	t.Helper()
	l, err := net.Listen("tcp", addr)
	if err != nil {
		t.Fatalf("listen on the address: %v", err)
	}
	defer l.Close()
	if caller, err = net.Dial("tcp", l.Addr().String()); err != nil {
		t.Fatalf("dial the listener: %v", err)
	}
	if listener, err = l.Accept(); err != nil {
		t.Fatalf("accept the connection: %v", err)
	}
	for _, c := range []net.Conn{caller, listener} {
		t.Cleanup(func() { c.Close() })
		if err := c.SetDeadline(time.Now().Add(2 * time.Minute)); err != nil {
			t.Fatalf("set a deadline: %v", err)
		}
	}
	return caller, listener
}

// answer performs the listener side with its hello.
func answer(conn net.Conn, token usertoken.Token) error {
	defer conn.Close()
	hello := make([]byte, len(usertoken.Hello))
	if _, err := io.ReadFull(conn, hello); err != nil {
		return err
	}
	return usertoken.Answer(conn, token)
}

// recorded notes the bytes that are written to a connection.
type recorded struct {
	net.Conn
	wrote bytes.Buffer
}

func (r *recorded) Write(p []byte) (int, error) {
	r.wrote.Write(p)
	return r.Conn.Write(p)
}

// known returns a token a caller knows already.
func known(token usertoken.Token) func() (usertoken.Token, error) {
	return func() (usertoken.Token, error) { return token, nil }
}

// meet lets a caller and a listener meet and returns their errors.
func meet(caller, listener net.Conn, called, listened usertoken.Token) (atCaller, atListener error) {
	var wg sync.WaitGroup
	wg.Go(func() { atListener = answer(listener, listened) })
	if atCaller = usertoken.Call(caller, known(called)); atCaller != nil {
		caller.Close()
	}
	wg.Wait()
	return atCaller, atListener
}

func TestProof(t *testing.T) {
	mine, other := ensure(t, filepath.Join(t.TempDir(), "token")), ensure(t, filepath.Join(t.TempDir(), "token"))
	for _, addr := range []string{"127.0.0.1:0", "[::1]:0"} {
		if addr[0] == '[' && !hasIPv6() {
			continue
		}
		caller, listener := pair(t, addr)
		c, l := &recorded{Conn: caller}, &recorded{Conn: listener}
		if atCaller, atListener := meet(c, l, mine, mine); atCaller != nil || atListener != nil {
			t.Fatalf("%s: two that know the token: %v, %v", addr, atCaller, atListener)
		}
		sent := c.wrote.String() + l.wrote.String()
		for _, secret := range mine.Forms() {
			if strings.Contains(sent, secret) {
				t.Errorf("the token was sent")
			}
		}
	}
	caller, listener := pair(t, "127.0.0.1:0")
	if atCaller, atListener := meet(caller, listener, other, mine); !errors.Is(atCaller, usertoken.ErrOther) || !errors.Is(atListener, usertoken.ErrStranger) {
		t.Errorf("two with different tokens: %v, %v", atCaller, atListener)
	}
}

func hasIPv6() bool {
	l, err := net.Listen("tcp", "[::1]:0")
	if err == nil {
		l.Close()
	}
	return err == nil
}

// A proof for the token, sent again on another connection to the same address, proves nothing.
func TestReplay(t *testing.T) {
	token := ensure(t, filepath.Join(t.TempDir(), "token"))
	caller, listener := pair(t, "127.0.0.1:0")
	addr := listener.LocalAddr().String()
	c := &recorded{Conn: caller}
	if atCaller, atListener := meet(c, listener, token, token); atCaller != nil || atListener != nil {
		t.Fatalf("two that know the token: %v, %v", atCaller, atListener)
	}
	caller.Close()
	again, other := pair(t, addr)
	var wg sync.WaitGroup
	wg.Go(func() {
		_, _ = again.Write(c.wrote.Bytes())
		_, _ = io.Copy(io.Discard, again)
	})
	if err := answer(other, token); !errors.Is(err, usertoken.ErrStranger) {
		t.Errorf("a replay: %v", err)
	}
	wg.Wait()
}

// A proof that a listener made must not serve a caller, nor one for another address.
func TestReflectedAndRelayed(t *testing.T) {
	token := ensure(t, filepath.Join(t.TempDir(), "token"))
	// The thief opens a connection and sends the proof by the listener back.
	thief, listener := pair(t, "127.0.0.1:0")
	var wg sync.WaitGroup
	wg.Go(func() {
		_, _ = thief.Write(append([]byte(usertoken.Hello), make([]byte, 32)...))
		reply := make([]byte, 65)
		if _, err := io.ReadFull(thief, reply); err == nil {
			_, _ = thief.Write(reply[33:])
		}
		_, _ = io.Copy(io.Discard, thief)
	})
	if err := answer(listener, token); !errors.Is(err, usertoken.ErrStranger) {
		t.Errorf("a reflected proof: %v", err)
	}
	wg.Wait()

	// The thief listens at another address and passes everything on.
	caller, toThief := pair(t, "127.0.0.2:0")
	fromThief, listener := pair(t, "127.0.0.1:0")
	var atListener error
	wg.Go(func() { atListener = answer(listener, token) })
	wg.Go(func() { _, _ = io.Copy(fromThief, toThief); fromThief.Close() })
	wg.Go(func() { _, _ = io.Copy(toThief, fromThief); toThief.Close() })
	if err := usertoken.Call(caller, known(token)); !errors.Is(err, usertoken.ErrOther) {
		t.Errorf("the caller of a relay: %v", err)
	}
	caller.Close()
	wg.Wait()
	if atListener == nil {
		t.Errorf("the listener behind a relay is satisfied")
	}
}

// A token that was never set proves nothing and accepts nothing.
func TestNoToken(t *testing.T) {
	caller, listener := pair(t, "127.0.0.1:0")
	if atCaller, atListener := meet(caller, listener, usertoken.Token{}, usertoken.Token{}); atCaller == nil || atListener == nil {
		t.Errorf("two without a token: %v, %v", atCaller, atListener)
	}
	token := ensure(t, filepath.Join(t.TempDir(), "token"))
	caller, listener = pair(t, "127.0.0.1:0")
	if atCaller, atListener := meet(caller, listener, usertoken.Token{}, token); !errors.Is(atCaller, usertoken.ErrOther) || atListener == nil {
		t.Errorf("a caller without a token: %v, %v", atCaller, atListener)
	}
}

// The agent of a service, which has no environment, and control in a login shell of the same user
// have one token.
func TestDefaultFile(t *testing.T) {
	t.Setenv("XDG_CONFIG_HOME", "")
	u, err := user.Current()
	if err != nil {
		t.Skip("this user has no home")
	}
	t.Setenv("HOME", u.HomeDir)
	atLogin, err := usertoken.DefaultFile()
	if err != nil {
		t.Fatalf("find the token: %v", err)
	}
	t.Setenv("HOME", "")
	if asService, err := usertoken.DefaultFile(); err != nil || asService != atLogin {
		t.Errorf("as a service %q, %v, at a login %q", asService, err, atLogin)
	}
}
