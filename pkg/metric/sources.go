package metric

// Sources lists all sources; new columns follow the order of their metrics. To add a source, add a
// file to this package and a line here.
func Sources() []Source {
	return []Source{
		cpuTime(),
		memory(),
		contextSwitches(),
		diskBytes(),
		processTree(),
		loadAverage(),
		deviceCounters(),
		interfaceCounters(),
		loadClients(),
		runDelay(),
		hostCPU(),
		hostWait(),
		cpuPressure(),
		memoryPressure(),
		ioPressure(),
		tcpSegments(),
		tcpEvents(),
		tcpQueues(),
		groupCPU(),
		groupMemory(),
		groupMemoryLimit(),
		diskFree(),
		groupMemoryKinds(),
		groupMemoryPressure(),
		groupCPUPressure(),
		groupIOPressure(),
		streamTrips(),
	}
}
