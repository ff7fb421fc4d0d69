package figure

import (
	"fmt"
	"image/color"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"codeberg.org/go-fonts/liberation/liberationsansbold"
	"codeberg.org/go-fonts/liberation/liberationsansregular"
	xfont "golang.org/x/image/font"
	"golang.org/x/image/font/opentype"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/vg"
)

// typeface is the size and style of a text.
type typeface struct {
	size  vg.Length
	bold  bool
	color color.Color
}

// face returns the font. It has the same metrics as Arial and Helvetica, so text measured with it
// fits wherever the SVG is displayed.
func (t typeface) face() font.Face {
	f := regular()
	if t.bold {
		f = bold()
	}
	f.Font.Size = t.size
	return f
}

// The two fonts in figures. The collection in the plotting library would bring ten more, 3.7 MB.
var (
	regular = sync.OnceValue(func() font.Face { return parsed(liberationsansregular.TTF, xfont.WeightNormal) })
	bold    = sync.OnceValue(func() font.Face { return parsed(liberationsansbold.TTF, xfont.WeightBold) })
)

func parsed(ttf []byte, weight xfont.Weight) font.Face {
	face, err := opentype.Parse(ttf)
	if err != nil {
		panic(fmt.Sprintf("figure: the library of fonts is broken: %v", err))
	}
	return font.Face{Font: font.Font{Typeface: "Liberation", Variant: "Sans", Weight: weight}, Face: face}
}

// height is the distance between two baselines.
func (t typeface) height() vg.Length { return t.size * 1.25 }

func (t typeface) width(s string) vg.Length {
	face := t.face()
	return face.Width(s)
}

// widest returns the width of the widest string in points.
func (t typeface) widest(all []string) vg.Length {
	var most vg.Length
	for _, s := range all {
		most = max(most, t.width(s))
	}
	return most
}

// wrap breaks s into lines no wider than width, at spaces if possible. An empty s has no lines.
func (t typeface) wrap(s string, width vg.Length) []string {
	var lines []string
	line := ""
	for _, word := range strings.Fields(printable(s)) {
		for joined := join(line, word); ; joined = word {
			if t.width(joined) <= width {
				line = joined
				break
			}
			if line != "" {
				lines, line = append(lines, line), ""
				continue
			}
			fit := t.fit(word, width)
			lines, word = append(lines, word[:fit]), word[fit:]
		}
	}
	if line != "" {
		lines = append(lines, line)
	}
	return lines
}

func join(line, word string) string {
	if line == "" {
		return word
	}
	return line + " " + word
}

// fit returns the number of bytes in word that fit into width, at least one character.
func (t typeface) fit(word string, width vg.Length) int {
	_, fit := utf8.DecodeRuneInString(word)
	for i := range word {
		if i > fit && t.width(word[:i]) <= width {
			fit = i
		}
	}
	return fit
}

// printable drops characters that XML cannot represent, control characters, invalid UTF-8, and
// characters that change the text direction.
func printable(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsSpace(r) {
			return ' '
		}
		if unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r) || r == utf8.RuneError || r == 0xFFFE || r == 0xFFFF {
			return -1
		}
		return r
	}, s)
}
