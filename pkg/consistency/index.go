package consistency

// index finds keys by their numbers, which are mostly small.
type index struct {
	pages [][]int32 // for keys below densest: the place plus one
	far   map[int64]int32
}

const (
	indexPage = 4096
	densest   = 1 << 26
)

// of returns a key's place, or none.
func (x *index) of(number int64) int32 {
	if number < 0 || number >= densest {
		if at, known := x.far[number]; known {
			return at
		}
		return none
	}
	if page := int(number / indexPage); page < len(x.pages) && x.pages[page] != nil {
		return x.pages[page][number%indexPage] - 1
	}
	return none
}

func (x *index) set(number int64, at int32) {
	if number < 0 || number >= densest {
		if x.far == nil {
			x.far = map[int64]int32{}
		}
		x.far[number] = at
		return
	}
	page := int(number / indexPage)
	for len(x.pages) <= page {
		x.pages = append(x.pages, nil)
	}
	if x.pages[page] == nil {
		x.pages[page] = make([]int32, indexPage)
	}
	x.pages[page][number%indexPage] = at + 1
}
