/* What OpenCL C has without an include, as instructions of AMD's GPUs. */
#define get_group_id(axis)                           \
  ((axis) == 0   ? __builtin_amdgcn_workgroup_id_x() \
   : (axis) == 1 ? __builtin_amdgcn_workgroup_id_y() \
                 : __builtin_amdgcn_workgroup_id_z())
#define get_local_id(axis) __builtin_amdgcn_workitem_id_x()
#define get_num_groups(axis) (__builtin_amdgcn_grid_size_x() / __builtin_amdgcn_workgroup_size_x())
#define barrier(fences)                                                                 \
  (__builtin_amdgcn_fence(__ATOMIC_SEQ_CST, "workgroup"), __builtin_amdgcn_s_barrier(), \
   __builtin_amdgcn_fence(__ATOMIC_SEQ_CST, "workgroup"))
#define mem_fence(fences) __builtin_amdgcn_fence(__ATOMIC_SEQ_CST, "agent")
#define atomic_inc(count) __atomic_fetch_add(count, 1, __ATOMIC_RELAXED)
