import Fuzzing

Fuzzing.main(.jws)
