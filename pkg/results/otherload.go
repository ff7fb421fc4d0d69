package results

import (
	"time"
)

// OtherLoad is a machine's work during the load without the client and the members.
type OtherLoad struct {
	// Host is the name of the machine, and Members the members on it, from 0. Client reports
	// whether the load came from it.
	Host    string `json:"host"`
	Members []int  `json:"members,omitempty"`
	Client  bool   `json:"client,omitempty"`
	CPUs    int    `json:"cpus"`
	// Length is the time between the compared samples.
	Length time.Duration `json:"length_ns"`
	// HostCPUSeconds is the use by all processes on the machine and its kernel, without interrupts,
	// and OwnCPUSeconds the use by the client and the members.
	HostCPUSeconds float64 `json:"host_cpu_seconds"`
	OwnCPUSeconds  float64 `json:"own_cpu_seconds"`
	// DeviceWrittenBytes counts the bytes that the devices of the members on the machine wrote, for
	// all its processes and including file system journals. OwnWrittenBytes counts those that the
	// members passed to the page cache meanwhile. Both are 0 without a device.
	DeviceWrittenBytes float64 `json:"device_written_bytes,omitempty"`
	OwnWrittenBytes    float64 `json:"own_written_bytes,omitempty"`
}

// OtherCPUShare returns the processor share used by others.
func (o OtherLoad) OtherCPUShare() float64 {
	if o.CPUs == 0 || o.Length <= 0 {
		return 0
	}
	return max(o.HostCPUSeconds-o.OwnCPUSeconds, 0) / (float64(o.CPUs) * o.Length.Seconds())
}

// OtherWrittenBytes returns the bytes that the devices wrote beyond the members' own.
func (o OtherLoad) OtherWrittenBytes() float64 {
	return max(o.DeviceWrittenBytes-o.OwnWrittenBytes, 0)
}
