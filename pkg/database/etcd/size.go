package etcd

import "github.com/coreos/dbtester/pkg/database"

// How etcd stores a revision, by the page layout of bbolt. Measured on one member of etcd 3.6.16
// with pages of 4 KiB (etcd_mvcc_db_total_size_in_bytes over the puts):
//
//	key + value   16+16  256+1024  256+16384  64+65536
//	bytes each       90      2067      18481     67981
//	storeSize        90      2068      18469     67621
//
// Updates cost as much as new keys: a revision is never overwritten.
const (
	pageSize   = 4096
	pageHeader = 16
	// fillPercent is how full etcd leaves pages of revisions.
	fillPercent = 90
	// entryHeader is the overhead of bbolt and etcd for a key and value: a leaf element (16 bytes),
	// a revision as key (17), and the fields of a mvccpb.KeyValue.
	entryHeader = 16 + 17 + 14
	// branchEntry is the entry for a page in the page above.
	branchEntry = 16 + 17 + 4
	// minEntries are on every page, whatever their size.
	minEntries = 2
)

// StoreSize returns the size of the etcd store in bytes after that many writes of a key and a
// value, without compaction.
func StoreSize(writes, keySize, valueSize int64) int64 {
	entry := entryHeader + keySize + valueSize
	perPage := max(minEntries, (pageSize*fillPercent/100-pageHeader)/entry)
	page := (pageHeader + perPage*entry + pageSize - 1) / pageSize * pageSize
	return int64(float64(writes) / float64(perPage) * float64(page+branchEntry))
}

// The files and entries of a member apart from its store; sizes are in bytes.
const (
	segment = 64 << 20 // a write-ahead log file
	// segments are kept after a snapshot.
	segments = 6
	// catchUp entries are kept after a snapshot for members that are behind.
	catchUp = 5000
)

// defaultQuota is the default in etcd, which 0 selects.
const defaultQuota = 2 << 30

// Needs returns the needed sizes of the store, the memory and the disk. Resident anonymous memory
// under the same loads was 137, 216, 259 and 935 MB, and memoryNeed is 118, 231, 293 and 973 MB.
// The store pages are mapped too, but the kernel can reclaim them.
func (s *Server) Needs(d database.Data) []database.Need {
	store := StoreSize(d.Writes, d.KeySize, d.ValueSize)
	quota := s.QuotaBackendBytes
	if quota == 0 {
		quota = defaultQuota
	}
	need := database.Need{Resource: database.ResourceStore, Bytes: store, Limit: quota, Option: "quota_backend_bytes"}
	if d.Writes > d.Keys {
		need.Why = "every update stays in it as a revision"
	}
	entry := d.KeySize + d.ValueSize
	log := min(d.Writes, max(s.SnapshotCount+catchUp, segments*segment/max(entry, 1))) * entry
	return []database.Need{
		need,
		{Resource: database.ResourceMemory, Bytes: s.memoryNeed(d)},
		{Resource: database.ResourceDisk, Bytes: store + log, Why: "the store and its log"},
	}
}

// memoryNeed returns the memory for the key index and for the entries since the last snapshot.
func (s *Server) memoryNeed(d database.Data) int64 {
	const process, perKey = 50 << 20, 200
	return process + d.Keys*(d.KeySize+perKey) + min(d.Writes, s.SnapshotCount)*(d.KeySize+d.ValueSize)*7/10
}

// Pace returns the pace of three members of the built-in server on one machine with two processors,
// for 256-byte keys and 1 KiB values: test-results/quickstart (525, 1,234 and 3,477 writes by 1, 10
// and 100 clients), all-five and reads.
func (s *Server) Pace(clients int) database.Pace {
	return database.Pace{Writes: database.Saturating(clients, 525, 7000), Reads: database.Saturating(clients, 2000, 18000)}
}
