package main

// The programs in the tables about etcd.
const (
	benchmarkName = "etcd benchmark"
	controlName   = "dbtester control"
	withRequests  = "dbtester, pings: with-requests"
	judgedName    = "dbtester, consistency: true"
	clientv3Name  = "clientv3 alone"
	floorName     = "floor"
)
