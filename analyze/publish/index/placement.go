package index

import "slices"

// Placement is where client and members ran, as far as the records show. Virtual machines on one
// host count as separate machines.
type Placement int

// If the runs in a report have several placements, the last one here counts.
const (
	Separate Placement = iota
	Unknown
	Shared
)

// with joins the placements in which two runs in a report were made.
func (p Placement) with(o Placement) Placement { return max(p, o) }

// placementOf returns the placement of one database in one run. Generators count as clients. Hosts
// with equal boot ids are the same machine.
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

// list is the entries with one placement.
type list struct {
	Title, Text string
	Entries     []Entry
}

// listsOf groups entries by placement, keeping their order. Empty groups are left out.
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
