import Fuzzing

Fuzzing.main(.log)
