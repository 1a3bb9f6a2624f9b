package lab

import (
	"encoding/json"
	"math"
)

// Plot holds curves over one pair of axes, as data.
type Plot struct {
	Title  string   `json:"title"`
	X      Axis     `json:"x"`
	Y      Axis     `json:"y"`
	Series []Series `json:"series"`
}

// Axis describes an axis of a plot.
type Axis struct {
	Label string   `json:"label"` // with the unit
	Log   bool     `json:"log,omitempty"`
	Names []string `json:"names,omitempty"` // names of the values 0, 1 and so on, drawn upright
}

// Series is a curve: points (X[i], Y[i]), in order. A point is left out if a value is not finite, or not positive on
// a logarithmic axis.
type Series struct {
	Name   string  `json:"name"`
	X      Numbers `json:"x"`
	Y      Numbers `json:"y"`
	Error  Numbers `json:"error,omitempty"`  // half the height of an error bar for each point, or none
	Points bool    `json:"points,omitempty"` // marks without a line
}

// Add adds a point with half the height of its error bar.
func (s *Series) Add(x, y, half float64) {
	s.X, s.Y, s.Error = append(s.X, x), append(s.Y, y), append(s.Error, half)
}

// Numbers are float64s. In JSON, NaN and infinities are null.
type Numbers []float64

// MarshalJSON returns an array.
func (n Numbers) MarshalJSON() ([]byte, error) { return json.Marshal(finite([]float64(n))) }

// UnmarshalJSON reads an array. It reads null as NaN.
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
