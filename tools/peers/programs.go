package main

// The programs in etcd's tables.
const (
	benchmarkName = "etcd benchmark"
	controlName   = "dbtester control"
	withRequests  = "dbtester, pings: with-requests"
	judgedName    = "dbtester, consistency: true"
	clientv3Name  = "clientv3 alone"
	floorName     = "floor"
)
