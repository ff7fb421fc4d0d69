package nft

import (
	"encoding/binary"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"syscall"
	"time"

	"github.com/google/nftables"
	"github.com/google/nftables/expr"
	"github.com/google/nftables/xt"
	"github.com/mdlayher/netlink"
	"golang.org/x/sys/unix"
)

const (
	// answerTimeout bounds the wait for the kernel.
	answerTimeout = 10 * time.Second
	// owned is NFT_TABLE_F_OWNER.
	owned = 0x2
)

// Table drops packets until it is closed or this process ends. Its methods are not safe for
// concurrent use.
type Table struct {
	conn   *nftables.Conn
	link   *netlink.Conn
	table  *nftables.Table
	chains []*nftables.Chain
}

// usual holds the usual netlink port of this process, its number, so that no connection with tables
// has it. When a connection closes, the kernel frees its port and then removes its tables, even if
// another connection got the port meanwhile and owns them. Other ports are not used again.
var usual struct {
	sync.Mutex
	held bool
}

// holdUsual opens a socket with the usual port, which is never closed. While another connection in
// this process has that port, there is nothing to hold.
func holdUsual() error {
	usual.Lock()
	defer usual.Unlock()
	if usual.held {
		return nil
	}
	fd, err := unix.Socket(unix.AF_NETLINK, unix.SOCK_RAW|unix.SOCK_CLOEXEC, unix.NETLINK_NETFILTER)
	if err != nil {
		return os.NewSyscallError("socket", err)
	}
	err = unix.Bind(fd, &unix.SockaddrNetlink{Family: unix.AF_NETLINK, Pid: uint32(os.Getpid())})
	if usual.held = err == nil; usual.held {
		return nil
	}
	if errors.Is(err, unix.EADDRINUSE) {
		err = nil
	}
	return errors.Join(os.NewSyscallError("bind", err), unix.Close(fd))
}

// Check makes a table that matches packets to a documentation address, and removes it. The error
// is the reason why tables cannot be used.
func Check() error {
	t, err := Drop(fmt.Sprintf("dbtester-check-%d-%d", os.Getpid(), time.Now().UnixNano()), []Rule{{To: End{netip.MustParseAddr("192.0.2.1"), 9}}}, 1)
	if err != nil {
		return err
	}
	return t.Close()
}

// Names returns the names of the tables here.
func Names() (names []string, err error) {
	c, err := nftables.New()
	if err != nil {
		return nil, fmt.Errorf("open nftables: %w", err)
	}
	list, err := c.ListTables()
	if err != nil {
		return nil, fmt.Errorf("list tables of nftables: %w", err)
	}
	for _, t := range list {
		names = append(names, t.Name)
	}
	return names, nil
}

// Drop makes a table with this name that drops a share, in parts of [Whole], of the packets that
// one of the rules matches.
func Drop(name string, rules []Rule, share int) (*Table, error) {
	return have(name, rules, dropped(share))
}

// Queue makes a table with this name that drops a share of the matched packets and sends the
// others to the queue with this number. The others pass while no program reads that queue.
func Queue(name string, rules []Rule, share int, number uint16) (*Table, error) {
	var errs []error
	for _, to := range [][]expr.Any{queued(number), xtQueued(number)} {
		what := [][]expr.Any{to}
		if share > 0 {
			what = [][]expr.Any{dropped(share), to}
		}
		t, err := have(name, rules, what...)
		if !errors.Is(err, unix.ENOENT) { // ENOENT: the kernel does not know the expression
			return t, err
		}
		errs = append(errs, err)
	}
	return nil, fmt.Errorf("%w: it needs Linux with CONFIG_NFT_QUEUE, or with CONFIG_NFT_COMPAT and CONFIG_NETFILTER_XT_TARGET_NFQUEUE", errors.Join(errs...))
}

// have makes a table that does things, one after the other, with the packets that rules match.
func have(name string, rules []Rule, what ...[]expr.Any) (*Table, error) {
	t, err := open(name)
	if err != nil {
		return nil, err
	}
	if err := t.fill(rules, what); err != nil {
		return nil, errors.Join(err, t.Close())
	}
	return t, nil
}

// open makes an empty table.
func open(name string) (*Table, error) {
	t := &Table{table: &nftables.Table{Name: name, Family: nftables.TableFamilyINet}}
	err := holdUsual()
	if err == nil {
		t.conn, err = nftables.New(nftables.AsLasting(), nftables.WithSockOptions(func(link *netlink.Conn) error {
			t.link = link
			return link.SetDeadline(time.Now().Add(answerTimeout))
		}))
	}
	if err != nil {
		return nil, fmt.Errorf("open nftables: %w", err)
	}
	if err := t.own(); err != nil {
		switch {
		case errors.Is(err, unix.EPERM):
			err = fmt.Errorf("%w: it needs CAP_NET_ADMIN (root, or a user and network namespace: unshare -rn)", err)
		case errors.Is(err, unix.EOPNOTSUPP), errors.Is(err, unix.EINVAL):
			err = fmt.Errorf("%w: tables that end with their owner need Linux 5.12 with CONFIG_NF_TABLES_INET", err)
		}
		return nil, errors.Join(fmt.Errorf("make a table of nftables: %w", err), t.Close())
	}
	return t, nil
}

// own makes the table, owned by this connection, for which the library has no option.
func (t *Table) own() error {
	attributes, err := netlink.MarshalAttributes([]netlink.Attribute{
		{Type: unix.NFTA_TABLE_NAME, Data: append([]byte(t.table.Name), 0)},
		{Type: unix.NFTA_TABLE_FLAGS, Data: binary.BigEndian.AppendUint32(nil, owned)},
	})
	if err != nil {
		return err
	}
	bound := func(kind netlink.HeaderType) netlink.Message {
		return netlink.Message{
			Header: netlink.Header{Type: kind, Flags: netlink.Request},
			Data:   []byte{unix.AF_UNSPEC, unix.NFNETLINK_V0, 0, unix.NFNL_SUBSYS_NFTABLES},
		}
	}
	made := netlink.Message{
		Header: netlink.Header{
			Type:  unix.NFNL_SUBSYS_NFTABLES<<8 | unix.NFT_MSG_NEWTABLE,
			Flags: netlink.Request | netlink.Acknowledge | netlink.Create | netlink.Excl,
		},
		Data: append([]byte{byte(t.table.Family), unix.NFNETLINK_V0, 0, 0}, attributes...),
	}
	if _, err := t.link.SendMessages([]netlink.Message{bound(unix.NFNL_MSG_BATCH_BEGIN), made, bound(unix.NFNL_MSG_BATCH_END)}); err != nil {
		return err
	}
	_, err = t.link.Receive()
	return err
}

// fill adds the rules, each once for every action on its packets.
func (t *Table) fill(rules []Rule, what [][]expr.Any) error {
	for _, hook := range []struct {
		name string
		at   *nftables.ChainHook
		in   bool
	}{{"in", nftables.ChainHookInput, true}, {"out", nftables.ChainHookOutput, false}} {
		chain := t.conn.AddChain(&nftables.Chain{Name: hook.name, Table: t.table, Type: nftables.ChainTypeFilter, Hooknum: hook.at, Priority: nftables.ChainPriorityFilter})
		t.chains = append(t.chains, chain)
		for _, r := range rules {
			if r.In != hook.in {
				continue
			}
			for _, protocol := range []byte{unix.IPPROTO_TCP, unix.IPPROTO_UDP} {
				matches, err := r.matches(protocol)
				if err != nil {
					return err
				}
				for _, do := range what {
					t.conn.AddRule(&nftables.Rule{Table: t.table, Chain: chain, Exprs: slices.Concat(matches, do)})
				}
			}
		}
		if err := t.send(); err != nil {
			return err
		}
	}
	return nil
}

// send has the kernel carry out the connection's requests.
func (t *Table) send() error {
	if err := t.link.SetDeadline(time.Now().Add(answerTimeout)); err != nil {
		return err
	}
	if err := t.conn.Flush(); err != nil {
		return fmt.Errorf("change a table of nftables: %w", err)
	}
	return nil
}

// matches returns the expressions with which r matches packets of the protocol.
func (r Rule) matches(protocol byte) ([]expr.Any, error) {
	list := []expr.Any{&expr.Meta{Key: expr.MetaKeyL4PROTO, Register: 1}, is([]byte{protocol})}
	family, from, to, size := byte(unix.NFPROTO_IPV4), uint32(12), uint32(16), uint32(4)
	if r.From.Addr.Is6() || r.To.Addr.Is6() {
		family, from, to, size = unix.NFPROTO_IPV6, 8, 24, 16
	}
	if r.From.Addr.IsValid() || r.To.Addr.IsValid() {
		list = append(list, &expr.Meta{Key: expr.MetaKeyNFPROTO, Register: 1}, is([]byte{family}))
	}
	for _, end := range []struct {
		End
		address, port uint32
	}{{r.From, from, 0}, {r.To, to, 2}} {
		if end.Addr.IsValid() {
			list = append(list, &expr.Payload{DestRegister: 1, Base: expr.PayloadBaseNetworkHeader, Offset: end.address, Len: size}, is(end.Addr.AsSlice()))
		}
		if end.Port != 0 {
			list = append(list, &expr.Payload{DestRegister: 1, Base: expr.PayloadBaseTransportHeader, Offset: end.port, Len: 2}, is(binary.BigEndian.AppendUint16(nil, end.Port)))
		}
	}
	if r.Group == "" {
		return list, nil
	}
	id, level, err := group(r.Group)
	if err != nil {
		return nil, err
	}
	return append(list,
		&expr.Socket{Key: expr.SocketKeyCgroupv2, Level: level, Register: 1},
		is(binary.NativeEndian.AppendUint64(nil, id))), nil
}

// is compares the first register.
func is(data []byte) expr.Any { return &expr.Cmp{Op: expr.CmpOpEq, Register: 1, Data: data} }

// dropped returns the expressions that drop a share of the packets that reach them, and count both
// kinds.
func dropped(share int) []expr.Any {
	if share >= Whole {
		return []expr.Any{&expr.Counter{}, &expr.Verdict{Kind: expr.VerdictDrop}}
	}
	return []expr.Any{
		&expr.Counter{},
		&expr.Numgen{Register: 1, Type: unix.NFT_NG_RANDOM, Modulus: Whole},
		&expr.Byteorder{SourceRegister: 1, DestRegister: 1, Op: expr.ByteorderHton, Len: 4, Size: 4},
		&expr.Cmp{Op: expr.CmpOpLt, Register: 1, Data: binary.BigEndian.AppendUint32(nil, uint32(share))},
		&expr.Counter{},
		&expr.Verdict{Kind: expr.VerdictDrop},
	}
}

// queued returns the expressions that count the packets that reach them and send them to a queue.
// xtQueued returns those for a kernel that has this only as an xtables target: struct
// xt_NFQ_info_v3.
func queued(number uint16) []expr.Any {
	return []expr.Any{&expr.Counter{}, &expr.Queue{Num: number, Flag: expr.QueueFlagBypass}}
}

func xtQueued(number uint16) []expr.Any {
	info := xt.Unknown(make([]byte, 8))
	for i, is := range []uint16{number, 1, uint16(expr.QueueFlagBypass)} {
		binary.NativeEndian.PutUint16(info[2*i:], is)
	}
	return []expr.Any{&expr.Counter{}, &expr.Target{Name: "NFQUEUE", Rev: 3, Info: &info}}
}

// group returns the kernel number of a control group, and its depth below the root.
func group(dir string) (id uint64, level uint32, err error) {
	info, err := os.Stat(dir)
	if err != nil {
		return 0, 0, fmt.Errorf("find a control group: %w", err)
	}
	for at := dir; ; at = filepath.Dir(at) {
		var s unix.Statfs_t
		if err := unix.Statfs(at, &s); err != nil {
			return 0, 0, fmt.Errorf("find a control group: %w", err)
		}
		if s.Type != unix.CGROUP2_SUPER_MAGIC {
			break
		}
		level++
	}
	if level < 2 {
		return 0, 0, fmt.Errorf("%s is no control group of version 2 below the root", dir)
	}
	return info.Sys().(*syscall.Stat_t).Ino, level - 1, nil // the root is level 0
}

// Counted returns the counts so far.
func (t *Table) Counted() (n Counted, err error) {
	if err := t.link.SetDeadline(time.Now().Add(answerTimeout)); err != nil {
		return n, err
	}
	for _, c := range t.chains {
		rules, err := t.conn.GetRules(t.table, c)
		if err != nil {
			return n, fmt.Errorf("read a table of nftables: %w", err)
		}
		for _, r := range rules {
			first, last, drops := counters(r.Exprs)
			if !drops {
				n.Queued += first
				continue
			}
			n.Matched += first
			n.Dropped += last
		}
	}
	n.Matched = max(n.Matched, n.Queued) // if a share is dropped first, that rule counts all packets
	return n, nil
}

// counters returns the first and the last count of a rule, and whether it drops packets.
func counters(list []expr.Any) (first, last uint64, drops bool) {
	seen := false
	for _, e := range list {
		switch e := e.(type) {
		case *expr.Counter:
			if last = e.Packets; !seen {
				first, seen = e.Packets, true
			}
		case *expr.Verdict:
			drops = e.Kind == expr.VerdictDrop
		}
	}
	return first, last, drops
}

// Close removes the table. It may be called more than once.
func (t *Table) Close() error {
	if t.conn == nil {
		return nil
	}
	err := t.conn.CloseLasting() // the kernel removes the objects the connection owned
	t.conn = nil
	return err
}
