package command

import "strings"

// Nearest returns the one of some names that is spelled most like a mistyped name, or that begins with it. It returns
// "" if none is near.
func Nearest(name string, names []string) string {
	best, distance := "", min(len(name)/2, 5)+1
	if len(name) > 64 {
		return ""
	}
	for _, candidate := range names {
		d := editDistance(name, candidate)
		if len(name) > 3 && strings.HasPrefix(candidate, name) {
			d = 1 // cut off rather than mistyped
		}
		if d < distance {
			best, distance = candidate, d
		}
	}
	return best
}

// editDistance returns how many bytes must be put in, taken out or replaced to make b of a. O(len(a)·len(b)).
func editDistance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			substitute := diagonal
			if a[i] != b[j] {
				substitute++
			}
			diagonal = row[j+1]
			row[j+1] = min(substitute, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}
