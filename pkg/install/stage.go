package install

// stage is where one release is being made.
type stage struct{}
