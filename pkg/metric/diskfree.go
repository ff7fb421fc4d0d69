package metric

// DiskFree is set by the sampler, from statfs on the data directory.
const DiskFree Name = "disk_free_bytes"

func diskFree() Source {
	return Source{Metrics: []Metric{{
		Name: DiskFree, Column: "DISK-FREE-BYTES", Unit: "bytes", Kind: Gauge, Scope: Host, Optional: true,
		Help: "space in the data directory's file system that is free for unprivileged processes",
	}}}
}
