import Fuzzing

Fuzzing.main(.line)
