package broder

import (
	"fmt"

	"freshet/lab"
)

// reference is what an earlier study of the same model, with a generator of its own for the same
// distributions, found on web-20k (16.1 million requests, 1.98 million distinct). Another generator differs
// in the second digit; what must agree is order and shape.
type reference struct {
	infinite float64
	rates    map[int][]float64 // by the size's logarithm, in order of referencePolicies
}

// referenceTolerance is the difference of miss rates that two generators may show.
const referenceTolerance = 0.05

var referencePolicies = []string{"min", "lru", "clock", "random", "static", "sieve", "s3-fifo", "w-tinylfu"}

func referenceFull() reference {
	return reference{0.1230, map[int][]float64{
		5:  {0.6990, 0.8023, 0.8039, 0.8302, 0.9800, 0.8516, 0.8886, 0.9236},
		6:  {0.6712, 0.7590, 0.7608, 0.7911, 0.9693, 0.8140, 0.8533, 0.9124},
		7:  {0.6440, 0.7248, 0.7263, 0.7561, 0.9516, 0.7745, 0.8098, 0.8952},
		8:  {0.6148, 0.7005, 0.7010, 0.7266, 0.9255, 0.7347, 0.7561, 0.8612},
		9:  {0.5823, 0.6814, 0.6810, 0.7011, 0.8925, 0.6969, 0.7006, 0.8068},
		10: {0.5460, 0.6613, 0.6601, 0.6771, 0.8552, 0.6606, 0.6479, 0.7465},
		11: {0.5047, 0.6366, 0.6349, 0.6511, 0.8192, 0.6250, 0.6030, 0.6820},
		12: {0.4564, 0.6049, 0.6029, 0.6204, 0.7840, 0.5881, 0.5640, 0.6175},
		13: {0.3999, 0.5638, 0.5618, 0.5816, 0.7419, 0.5451, 0.5229, 0.5532},
		14: {0.3347, 0.5100, 0.5078, 0.5308, 0.6864, 0.4903, 0.4704, 0.4862},
		15: {0.2633, 0.4382, 0.4357, 0.4639, 0.6178, 0.4165, 0.3969, 0.4070},
		16: {0.1931, 0.3441, 0.3407, 0.3796, 0.5295, 0.3170, 0.2995, 0.3089},
		17: {0.1424, 0.2389, 0.2349, 0.2874, 0.3937, 0.2156, 0.2045, 0.2234},
		18: {0.1230, 0.1621, 0.1602, 0.2102, 0.1998, 0.1573, 0.1527, 0.1756},
		19: {0.1230, 0.1325, 0.1323, 0.1620, 0.1081, 0.1340, 0.1325, 0.1529},
		20: {0.1230, 0.1245, 0.1243, 0.1346, 0.0580, 0.1241, 0.1245, 0.1357},
		21: {0.1230, 0.1230, 0.1230, 0.1230, 0.0000, 0.1230, 0.1230, 0.1230},
	}}
}

func referenceCross() reference {
	return reference{0.0791, map[int][]float64{
		5:  {0.6870, 0.7829, 0.7844, 0.8070, 0.9263, 0.8132, 0.8492, 0.8839},
		8:  {0.5826, 0.7034, 0.7026, 0.7229, 0.8497, 0.7067, 0.7042, 0.7964},
		9:  {0.5357, 0.6787, 0.6775, 0.6951, 0.8100, 0.6720, 0.6528, 0.7260},
		10: {0.4791, 0.6473, 0.6458, 0.6623, 0.7590, 0.6309, 0.6014, 0.6538},
		11: {0.4112, 0.6023, 0.6003, 0.6189, 0.6915, 0.5780, 0.5457, 0.5737},
		12: {0.3319, 0.5366, 0.5341, 0.5573, 0.5956, 0.5049, 0.4749, 0.4828},
		13: {0.2444, 0.4420, 0.4383, 0.4706, 0.4566, 0.4025, 0.3768, 0.3729},
		14: {0.1605, 0.3150, 0.3103, 0.3584, 0.2761, 0.2667, 0.2494, 0.2413},
		15: {0.1049, 0.1844, 0.1805, 0.2418, 0.1742, 0.1555, 0.1502, 0.1581},
		16: {0.0827, 0.1156, 0.1153, 0.1551, 0.1068, 0.1146, 0.1130, 0.1256},
		17: {0.0791, 0.0885, 0.0888, 0.1038, 0.0472, 0.0905, 0.0889, 0.0964},
		18: {0.0791, 0.0791, 0.0791, 0.0791, 0.0000, 0.0791, 0.0791, 0.0791},
	}}
}

// compare puts a study's curves beside the reference.
func (r reference) compare(out *lab.Result, s *study) {
	add := func(what string, published, measured float64) {
		out.Compare(lab.Comparison{What: s.name + ": " + what, Source: "earlier study of the model",
			Published: published, Measured: measured, Tolerance: referenceTolerance})
	}
	for p, policy := range referencePolicies {
		rates := s.rates(policy)
		for i, log := range s.logs {
			if row := r.rates[log]; rates != nil && row != nil {
				add(fmt.Sprintf("%s of 2^%d", policy, log), row[p], rates[i])
			}
		}
	}
	add("infinite", r.infinite, s.infinite())
}
