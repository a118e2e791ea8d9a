// Exit code = openblas_get_parallel(): 0 serial, 1 pthread, 2 OpenMP.
extern "C" int openblas_get_parallel(void);
int main() { return openblas_get_parallel(); }
