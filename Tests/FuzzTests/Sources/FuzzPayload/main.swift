import Fuzzing

Fuzzing.main(.payload)
