package metric

// Clients is the only metric that control sets.
const Clients Name = "clients"

func loadClients() Source {
	return Source{Metrics: []Metric{{
		Name: Clients, Column: "EXTRA", Unit: "clients", Kind: Setting, Scope: Load,
		Help: "number of clients that control applied last",
	}}}
}
