package fault

import (
	"cmp"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"github.com/coreos/dbtester/pkg/fault/nft"
)

// The values of [Parameters.From] and [Parameters.Direction].
const (
	fromMembers = "members"
	fromClients = "clients"
	fromAll     = "all"

	directionBoth = "both"
	directionIn   = "in"
	directionOut  = "out"
)

// Origins and Directions return the possible values of From and Direction, the default first.
func Origins() []string    { return []string{fromMembers, fromClients, fromAll} }
func Directions() []string { return []string{directionBoth, directionIn, directionOut} }

// checkCut returns an error if the parameters that select packets are wrong.
func checkCut(p Parameters) error {
	if p.From != "" && !slices.Contains(Origins(), p.From) {
		return wrong("from", "from must be one of %s, got %q", strings.Join(Origins(), ", "), p.From)
	}
	if p.Direction != "" && !slices.Contains(Directions(), p.Direction) {
		return wrong("direction", "direction must be one of %s, got %q", strings.Join(Directions(), ", "), p.Direction)
	}
	_, err := besides(p)
	return err
}

// besides returns the members on the victim's side, from 0.
func besides(p Parameters) (list []int, err error) {
	for field := range strings.SplitSeq(p.Beside, ",") {
		n, err := strconv.Atoi(field)
		switch {
		case p.Beside == "":
			return nil, nil
		case err != nil || n < 1:
			return nil, wrong("beside", "beside must be numbers of members from 1 with commas between them, got %q", p.Beside)
		}
		list = append(list, n-1)
	}
	return list, nil
}

// SharesGroups reports whether the fault that r describes must tell apart the sockets of members
// that share a machine.
func (k Kind) SharesGroups(r Record) bool {
	p, err := r.decoded()
	return err == nil && k.groups && p.From != fromClients
}

// rules match the packets the parameters select.
func (n Network) rules(p Parameters) (list []nft.Rule, err error) {
	from, direction := cmp.Or(p.From, fromMembers), cmp.Or(p.Direction, directionBoth)
	own := n.Hosts[n.Member]
	var cut []stream
	if from != fromMembers {
		cut = append(cut, streams(own, []uint16{own.Client}, nil, "")...)
	}
	if from != fromClients {
		beside, err := besides(p)
		if err != nil {
			return nil, err
		}
		between, err := n.members(beside)
		if err != nil {
			return nil, err
		}
		cut = append(cut, between...)
	}
	for _, s := range cut {
		if direction != directionOut {
			list = append(list, s.rule(true))
		}
		if direction != directionIn {
			list = append(list, s.rule(false))
		}
	}
	if len(list) == 0 {
		return nil, errors.New("no other member to cut the member from")
	}
	return list, nil
}

// stream is the packets on connections to one listener, in both directions.
type stream struct {
	// listener is the end that does not change, and peer the other end's address; zero for any.
	listener nft.End
	peer     netip.Addr
	// group is the control group of the connecting sockets; "" for any. ours reports whether the
	// victim is the connecting side: incoming packets then come from the listener.
	group string
	ours  bool
}

// rule matches the packets the victim receives, or those it sends.
func (s stream) rule(in bool) nft.Rule {
	// The sockets of a group are the connecting side, even if that is the other side of the packets
	// on one machine.
	toListener := in != s.ours
	r := nft.Rule{In: in, Group: s.group}
	if s.group != "" && !s.ours {
		r.In = !in
	}
	if r.To = s.listener; !toListener {
		r.From, r.To = r.To, nft.End{}
	}
	if toListener {
		r.From.Addr = s.peer
	} else {
		r.To.Addr = s.peer
	}
	return r
}

// streams returns the streams between ports of h and peers.
func streams(h Host, ports []uint16, peers []netip.Addr, group string) (list []stream) {
	if len(peers) == 0 {
		peers = []netip.Addr{{}}
	}
	for _, addr := range h.Addrs {
		for _, port := range ports {
			for _, peer := range peers {
				if !peer.IsValid() || peer.Is4() == addr.Is4() {
					list = append(list, stream{listener: nft.End{Addr: addr, Port: port}, peer: peer, group: group})
				}
			}
		}
	}
	return list
}

// members returns the streams between the victim and all other members except those beside it.
func (n Network) members(beside []int) (list []stream, err error) {
	own := n.Hosts[n.Member]
	if n.Shared && n.Group == "" {
		return nil, errors.New("the members of this machine are not told apart: the start of the member did not announce the fault")
	}
	if len(beside) == 0 {
		list = streams(own, own.Members, nil, "")
	}
	for i, h := range n.Hosts {
		if i == n.Member || slices.Contains(beside, i) {
			continue
		}
		for _, s := range streams(h, h.Members, nil, n.Group) {
			s.ours = true
			list = append(list, s)
		}
		switch {
		case len(beside) == 0:
		case !n.Shared:
			list = append(list, streams(own, own.Members, h.Addrs, "")...)
		default:
			list = append(list, streams(own, own.Members, nil, n.Groups[i])...)
		}
	}
	return list, nil
}

// tableOf returns the rules for the packets that r selects, and a name for their table.
func tableOf(v Victim, r Record) (name string, rules []nft.Rule, err error) {
	p, err := r.decoded()
	if err != nil {
		return "", nil, err
	}
	n, err := v.Network()
	if err != nil {
		return "", nil, err
	}
	rules, err = n.rules(p)
	return n.Name + "-" + r.ID, rules, err
}

// drop drops packets of the victim until the fault is over.
func drop(v Victim, r Record, share int) (string, error) {
	name, rules, err := tableOf(v, r)
	if err != nil {
		return "", err
	}
	t, err := nft.Drop(name, rules, share)
	if err != nil {
		return "", err
	}
	v.Hold(r.ID, t)
	return fmt.Sprintf("%d rules drop packets", len(rules)), nil
}

// pass lets the packets through again.
func pass(v Victim, r Record) (string, error) {
	t, ok := v.Held(r.ID).(*nft.Table)
	if !ok {
		return "", nil // it was never applied
	}
	n, err := t.Counted()
	if err := errors.Join(err, v.LetGo(r.ID)); err != nil {
		return "", err
	}
	if n.Dropped == 0 {
		return "", fmt.Errorf("none of %d packets was dropped", n.Matched)
	}
	return fmt.Sprintf("%d of %d packets were dropped", n.Dropped, n.Matched), nil
}

// shareOf parses a packet share in parts of [nft.Whole].
func shareOf(loss string) (int, error) {
	text, ok := strings.CutSuffix(loss, "%")
	percent, err := strconv.ParseFloat(text, 64)
	share := int(percent*nft.Whole/100 + 0.5)
	if !ok || err != nil || !(percent <= 100) || share < 1 {
		return 0, wrong("loss", "loss must be a share from 0.01%% to 100%%, got %q", loss)
	}
	return share, nil
}
