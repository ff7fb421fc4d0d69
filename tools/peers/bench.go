package main

// benchPage compares the costs of dbtester and of other tools to their machine.
func benchPage() page {
	return page{
		title: "Client cost beside other tools",
		about: "CPU is user and system time of the whole process, start and end included. RssAnon is its largest anonymous memory sampled every 20 ms, peak RSS the kernel's own account. Requests per second are those of the whole process too. The programs of a table run in turn: ratios are medians over neighbouring runs, with the interval that holds such a median with at least 95 % probability by the order of the runs. They are to the first row, and to the floor where there is one.\n\nThe floor is a loop of one thread around `epoll` in Go, which encodes a request once, answers PINGs at once, and records nothing (`tools/peers/floorput.go`). A server that is behind refuses requests: a run of the floor or of clientv3 alone with more than 5 % failed requests ends the measurement. Loads are not judged (`consistency: false`) unless a row says so; a judged one also reads every key back after the load. Rows without an option have the default settings.\n\nBy `make bench-peers`, each section by itself, at the commit and the date that it names. `make bench-peers PARTS=rate-1000,start` measures some sections and keeps the others.",
		parts: benchParts(),
	}
}

// benchParts returns the page sections.
func benchParts() []part {
	all := append(etcdParts(), storeParts()...)
	return append(all,
		part{"http", "GETs over HTTP", 20, compareHTTP},
		part{"databases", "Puts to each database", 20, measureDatabases},
		part{"start", "Size and start of the program", 1, measureStart},
		part{"cold", "A bare clone", 7, measureCold},
	)
}
