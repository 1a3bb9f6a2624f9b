package lab

import (
	"encoding/json"
	"math"
)

// Plot is curves over one pair of axes, as data.
type Plot struct {
	Title  string   `json:"title"`
	X      Axis     `json:"x"`
	Y      Axis     `json:"y"`
	Series []Series `json:"series"`
}

// Axis is what a direction of a plot stands for.
type Axis struct {
	Label string   `json:"label"` // with the unit
	Log   bool     `json:"log,omitempty"`
	Names []string `json:"names,omitempty"` // what 0, 1 and so on stand for, across
}

// Series is a curve: points (X[i], Y[i]), in order. Points with a value that is not finite, or not
// positive on a logarithmic axis, are left out.
type Series struct {
	Name   string  `json:"name"`
	X      Numbers `json:"x"`
	Y      Numbers `json:"y"`
	Error  Numbers `json:"error,omitempty"`  // half the height of an error bar for each point, or none
	Points bool    `json:"points,omitempty"` // marks and no line
}

// Add adds a point with half the height of its error bar.
func (s *Series) Add(x, y, half float64) {
	s.X, s.Y, s.Error = append(s.X, x), append(s.Y, y), append(s.Error, half)
}

// Numbers are float64s of which those that are not finite are null in JSON.
type Numbers []float64

// MarshalJSON returns an array.
func (n Numbers) MarshalJSON() ([]byte, error) { return json.Marshal(finite([]float64(n))) }

// UnmarshalJSON reads an array, null as NaN.
func (n *Numbers) UnmarshalJSON(text []byte) error {
	var all []*float64
	if err := json.Unmarshal(text, &all); err != nil {
		return err
	}
	*n = make(Numbers, len(all))
	for i, v := range all {
		if (*n)[i] = math.NaN(); v != nil {
			(*n)[i] = *v
		}
	}
	return nil
}
