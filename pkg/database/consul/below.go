package consul

import "github.com/coreos/dbtester/pkg/database"

// below restricts keys to a prefix like [database.Below]. Sessions have no prefix.
type below struct {
	*database.Below
	database.Leaser
}

// operations is implemented by the clients of both transports.
type operations interface {
	database.WholeKeys
	database.Leaser
}

// within returns a client whose keys lie below the target prefix, if it has one.
func within(t database.Target, on operations) database.WholeKeys {
	if t.Prefix == "" {
		return on
	}
	return &below{database.NewBelow(t, on), on}
}
