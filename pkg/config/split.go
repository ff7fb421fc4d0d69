package config

// split divides requests among n steps by the classic rule: equal parts, cut
// down to whole ten thousands, else to whole thousands, when they are larger;
// the last step gets the rest. A million over eight is seven times 120,000 and
// 160,000.
func split(requests int64, n int) []int64 {
	if n == 0 {
		return nil
	}
	part := requests / int64(n)
	switch {
	case part > 10_000:
		part -= part % 10_000
	case part > 1_000:
		part -= part % 1_000
	}
	parts := make([]int64, n)
	for i := range parts {
		parts[i] = part
	}
	parts[n-1] = requests - part*int64(n-1)
	return parts
}
