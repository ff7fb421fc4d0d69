package metric

// Metrics for the TCP connections on which a member alone sends, such as etcd's streams. The
// sampler sets them, from the kernel's statistics for each connection.
const (
	StreamTrips       Name = "stream_trips"
	StreamTripSeconds Name = "stream_trip_seconds"
)

func streamTrips() Source {
	return Source{Metrics: []Metric{
		{Name: StreamTrips, Column: "STREAM-TRIPS", Unit: "segments", Kind: Counter, Scope: Process, Optional: true,
			Help: "TCP segments with data that the member sent to other members on connections on which it alone sends (for etcd, which streams its log), counted from second to second"},
		{Name: StreamTripSeconds, Column: "STREAM-TRIP-SECONDS", Unit: "s", Kind: Counter, Scope: Process, Decimals: Exact, Optional: true,
			Help: "for each of these segments one round trip to another member, as the kernel smoothed it when the second ended: to the farthest among the nearest members that form a majority with this one"},
	}}
}
