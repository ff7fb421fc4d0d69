package results

type rowFile struct{}
