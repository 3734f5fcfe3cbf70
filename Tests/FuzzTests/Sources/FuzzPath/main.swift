import Fuzzing

Fuzzing.main(.path)
