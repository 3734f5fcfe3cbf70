import Fuzzing

Fuzzing.main(.report)
