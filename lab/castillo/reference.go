package castillo

const referenceSource = "an earlier study of the model"

// reference is what the earlier study found on its web-5k with w = 15 s and k = 1.
type reference struct {
	order       string
	connections int
	shares      [8]float64 // at referencePercents
	mean        float64
}

var referencePercents = [8]int{1, 5, 10, 20, 30, 50, 70, 90}

func references() []reference {
	return []reference{
		{"optimal", 1, [8]float64{.268, .455, .542, .641, .712, .820, .905, .973}, .783},
		{"depth", 1, [8]float64{.098, .260, .380, .533, .606, .739, .858, .959}, .704},
		{"length", 1, [8]float64{.071, .123, .163, .231, .285, .427, .584, .773}, .448},
		{"batch:1.4%", 1, [8]float64{.098, .406, .511, .610, .685, .801, .895, .972}, .761},
		{"partial:1.4%", 1, [8]float64{.136, .410, .511, .610, .685, .801, .895, .972}, .762},
		{"batch:2.9%", 1, [8]float64{.098, .376, .507, .616, .688, .802, .895, .971}, .760},
		{"partial:2.9%", 1, [8]float64{.136, .401, .513, .615, .688, .802, .895, .971}, .763},
		{"in-links", 1, [8]float64{.133, .320, .362, .453, .521, .640, .763, .887}, .634},
		{"opic", 1, [8]float64{.138, .379, .482, .601, .679, .800, .895, .971}, .757},
		{"cash-sum", 1, [8]float64{.168, .269, .343, .459, .571, .743, .870, .967}, .695},
		{"optimal", 64, [8]float64{.207, .425, .510, .603, .673, .792, .890, .968}, .759},
		{"depth", 64, [8]float64{.099, .263, .367, .482, .579, .728, .843, .954}, .687},
		{"length", 64, [8]float64{.089, .236, .303, .437, .601, .739, .857, .956}, .686},
		{"opic", 64, [8]float64{.137, .347, .460, .560, .642, .773, .878, .964}, .734},
		{"cash-sum", 64, [8]float64{.147, .357, .459, .560, .637, .772, .877, .964}, .733},
		{"optimal", 256, [8]float64{.145, .338, .462, .590, .672, .792, .890, .968}, .748},
		{"depth", 256, [8]float64{.098, .248, .346, .475, .575, .727, .844, .954}, .683},
		{"length", 256, [8]float64{.105, .264, .381, .509, .596, .731, .851, .956}, .696},
		{"opic", 256, [8]float64{.129, .273, .404, .553, .639, .774, .878, .965}, .726},
		{"cash-sum", 256, [8]float64{.128, .274, .402, .553, .639, .773, .878, .965}, .726},
	}
}

// speedUp is a row of the paper's Table I.
type speedUp struct {
	bandwidth   float64 // taken for bytes/s
	one         float64 // r = 1, which reads well only as time by that with the largest bandwidth
	many, crowd float64 // r = 64 and 256
}

func tableI() []speedUp {
	return []speedUp{
		{2e7, 1.0, 54.6, 220.1}, {2e6, 1.0, 54.3, 204.3}, {2e5, 1.0, 43.0, 114.1},
		{2e4, 1.0, 27.0, 83.3}, {2e3, 1.5, 3.8, 16.0}, {200, 6.3, 1.6, 3.0},
	}
}
