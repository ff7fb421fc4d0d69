package results

import (
	"github.com/coreos/dbtester/pkg/files/openjson"
)

type (
	plainRun    DatabaseRun // without the methods that add records
	plainMember Member
)

// MarshalJSON encodes a run with its records.
func (d DatabaseRun) MarshalJSON() ([]byte, error) { return openjson.Marshal(plainRun(d), d.Records) }

// UnmarshalJSON decodes a run with its records.
func (d *DatabaseRun) UnmarshalJSON(data []byte) (err error) {
	d.Records, err = openjson.Unmarshal(data, (*plainRun)(d))
	return err
}

// MarshalJSON encodes a member with its records.
func (m Member) MarshalJSON() ([]byte, error) { return openjson.Marshal(plainMember(m), m.Records) }

// UnmarshalJSON decodes a member with its records.
func (m *Member) UnmarshalJSON(data []byte) (err error) {
	m.Records, err = openjson.Unmarshal(data, (*plainMember)(m))
	return err
}
