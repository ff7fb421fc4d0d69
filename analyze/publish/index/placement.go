package index

import "slices"

// Placement is where the client and the members of runs were, as far as the records show:
// virtual machines of one host are separate.
type Placement int

// The placements. A report of several has the last of them.
const (
	Separate Placement = iota
	Unknown
	Shared
)

// with joins the placements of two runs of one report.
func (p Placement) with(o Placement) Placement { return max(p, o) }

// placementOf is that of one database of one run; generators are part of the client. Hosts with equal boot ids are one machine.
func placementOf(client host, members, generators []member) Placement {
	seen, p := map[string]bool{client.BootID: true}, Separate
	if client.BootID == "" || len(members) == 0 {
		p = Unknown
	}
	for _, m := range slices.Concat(members, generators) {
		switch id := m.Host.BootID; {
		case id == "":
			p = p.with(Unknown)
		case seen[id]:
			return Shared
		default:
			seen[id] = true
		}
	}
	return p
}

// list is the entries of one placement.
type list struct {
	Title, Text string
	Entries     []Entry
}

// listsOf sorts entries by placement, and keeps their order otherwise. Placements without
// entries are left out.
func listsOf(entries []Entry) (lists []list) {
	for _, l := range []struct {
		of   Placement
		list list
	}{
		{Separate, list{Title: "Separate machines", Text: "The client and each member had a machine of its own."}},
		{Shared, list{Title: "One shared machine", Text: "Members shared a machine with one another or with the client: they competed for its processors, disk and network. Never compare these numbers with results from separate machines."}},
		{Unknown, list{Title: "Machines not known", Text: "The records do not show whether members and client shared a machine. Do not compare these numbers with any others."}},
	} {
		for _, e := range entries {
			if e.Placement == l.of {
				l.list.Entries = append(l.list.Entries, e)
			}
		}
		if len(l.list.Entries) > 0 {
			lists = append(lists, l.list)
		}
	}
	return lists
}
